// Goal: a schema that a client of chat or responses asks for is not refused by providers of the Anthropic format, which take
// less of JSON Schema: limits become a part of the description, and what they cannot express is asked for in words.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import OpenAI from 'openai'
import { isJsonObject, type JsonObject } from '../../contract/std/jsonObject.ts'
import { type Asked, type Turn, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { HELLO, text } from './blockRows.ts'

/** A schema, and the provider's: null is asked for in words. */
const ROWS: readonly (readonly [title: string, schema: JsonObject, taken: JsonObject | null])[] = [
  [
    'limits of numbers, texts and lists',
    {
      type: 'object',
      properties: {
        age: { type: 'integer', minimum: 0, maximum: 130 },
        names: { type: 'array', items: { type: 'string', minLength: 1 }, maxItems: 3, description: 'All names.' },
      },
      required: ['age'],
    },
    {
      type: 'object',
      properties: {
        age: { type: 'integer', description: '{minimum: 0, maximum: 130}' },
        names: {
          type: 'array',
          items: { type: 'string', description: '{minLength: 1}' },
          description: 'All names.\n\n{maxItems: 3}',
        },
      },
      required: ['age'],
      additionalProperties: false,
    },
  ],
  [
    'a choice of closed objects',
    { oneOf: [{ type: 'object', properties: {}, additionalProperties: false }, { type: 'null' }] },
    { anyOf: [{ type: 'object', properties: {}, additionalProperties: false }, { type: 'null' }] },
  ],
  ['a map', { type: 'object', additionalProperties: { type: 'number' } }, null],
  ['a list of itself', { type: 'array', items: { $ref: '#' } }, null],
]

const REFUSED = /"(?:minimum|maximum|minLength|maxLength|maxItems|oneOf|pattern)":/

let stack: Stack
let provider: TurnProvider
let client: OpenAI

/** Every object of a schema is closed. */
function isClosed(schema: unknown): boolean {
  if (!isJsonObject(schema)) return true
  const parts = Object.values(schema).flatMap((part) => (Array.isArray(part) ? part : [part]))
  return (schema['type'] !== 'object' || schema['additionalProperties'] === false) && parts.every(isClosed)
}

/** Refuses schemas that the format does not take. */
function answer({ body }: Asked): Turn {
  const { format } = (body['output_config'] ?? {}) as { format?: { schema: JsonObject } }
  if (format === undefined || (isClosed(format.schema) && !REFUSED.test(JSON.stringify(format)))) return { text: 'ok' }
  const message = 'output_config.format.schema: unsupported keyword'
  return { refusal: { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message } } } }
}

before(async () => {
  provider = await TurnProvider.start(answer)
  const routes = [{ provider: 'turns', model: 'm' }]
  stack = await startStack({
    catalog: {
      providers: [{ id: 'turns', dialect: 'anthropic', base_url: provider.url }],
      models: [
        { id: 'test/chat', routes },
        { id: 'test/responses', endpoints: ['responses'], routes },
      ],
    },
  })
  const { apiKey } = await stack.createAccount()
  client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0 })
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

describe('the schema of an answer', () => {
  for (const [title, schema, taken] of ROWS) {
    const words = `Answer with a single JSON value that matches this JSON schema and nothing else: ${JSON.stringify(schema)}`
    const due =
      taken === null
        ? { format: undefined, system: [text(words)] }
        : { format: { type: 'json_schema', schema: taken }, system: undefined }
    const assertSent = (): void => {
      const { output_config: config, system } = provider.last.body
      assert.deepEqual({ format: (config as JsonObject | undefined)?.['format'], system }, due)
    }

    test(`of a chat: ${title}`, async () => {
      await client.chat.completions.create({
        model: 'test/chat',
        messages: [HELLO as OpenAI.ChatCompletionUserMessageParam],
        response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
      })
      assertSent()
    })

    test(`of a response: ${title}`, async () => {
      const { output_text: said } = await client.responses.create({
        model: 'test/responses',
        input: 'hi',
        text: { format: { type: 'json_schema', name: 'answer', schema } },
      })
      assert.equal(said, 'ok')
      assertSent()
    })
  }
})
