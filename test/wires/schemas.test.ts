// Goal: a schema that a client of chat or responses asks for is not refused by providers of the Anthropic format, which take
// less of JSON Schema: limits become a part of the description, and what they cannot express is asked for in words. Nor are
// the parameters of a tool, whose unions at the top become one object: one tool would end every request of an agent.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { isJsonObject, type JsonObject } from '../../contract/std/jsonObject.ts'
import { type Asked, refusal, type Turn, TurnProvider } from '../support/providers/turnProvider.ts'
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

interface Tool {
  readonly name: string
  readonly input_schema: JsonObject
}

let stack: Stack
let provider: TurnProvider
let client: OpenAI
let anthropic: Anthropic

/** Every object of a schema is closed. */
function isClosed(schema: unknown): boolean {
  if (!isJsonObject(schema)) return true
  const parts = Object.values(schema).flatMap((part) => (Array.isArray(part) ? part : [part]))
  return (schema['type'] !== 'object' || schema['additionalProperties'] === false) && parts.every(isClosed)
}

/** Refuses schemas that the format does not take. */
function answer({ body }: Asked): Turn {
  const tools = (body['tools'] ?? []) as readonly Tool[]
  const isUnion = ({ input_schema: schema }: Tool): boolean =>
    'anyOf' in schema || 'oneOf' in schema || 'allOf' in schema
  if (tools.some(isUnion))
    return refusal('tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level')
  if (new Set(tools.map(({ name }) => name)).size < tools.length) return refusal('tools: Tool names must be unique.')
  const { format } = (body['output_config'] ?? {}) as { format?: { schema: JsonObject } }
  if (format === undefined || (isClosed(format.schema) && !REFUSED.test(JSON.stringify(format)))) return { text: 'ok' }
  return refusal('output_config.format.schema: unsupported keyword')
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
  anthropic = new Anthropic({ baseURL: stack.baseUrl, apiKey, maxRetries: 0 })
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

    for (const format of [
      { type: 'json_schema', json_schema: { name: 'answer', schema } },
      // As Together and llama.cpp document it.
      { type: 'json_schema', schema },
      { type: 'json_object', schema },
    ]) {
      test(`of a chat: ${title}, as ${Object.keys(format).join(' and ')} ${format.type}`, async () => {
        await client.chat.completions.create({
          model: 'test/chat',
          messages: [HELLO as OpenAI.ChatCompletionUserMessageParam],
          response_format: format as OpenAI.ResponseFormatJSONSchema,
        })
        assertSent()
      })
    }

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

describe('the parameters of tools', () => {
  const part = (name: string) => ({
    type: 'object' as const,
    properties: { [name]: { type: 'string' } },
    required: [name],
  })
  const union = { anyOf: [part('a'), part('b')] }
  const taken = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } }
  const names = ['f', 'g', 'f']
  const due = [
    { name: 'f', input_schema: taken },
    { name: 'g', input_schema: taken },
  ]

  test('of a chat', async () => {
    await client.chat.completions.create({
      model: 'test/chat',
      messages: [{ role: 'user', content: 'hi' }],
      tools: names.map((name) => ({ type: 'function', function: { name, parameters: union } })),
    })
    assert.deepEqual(provider.last.body['tools'], due)
  })

  test('of Messages', async () => {
    await anthropic.messages.create({
      model: 'test/chat',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'hi' }],
      tools: names.map((name) => ({ name, input_schema: { type: 'object', ...union } })),
    })
    assert.deepEqual(provider.last.body['tools'], due)
  })
})
