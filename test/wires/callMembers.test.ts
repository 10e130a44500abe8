// Goal: what a provider wants back with a tool call, such as Gemini's signature of the thought before it, comes back through the
// official client of every format, streamed or not, to providers that take it, and to no other.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { itemOf } from '../support/present.ts'
import { turnModels } from '../support/providers/turnCatalog.ts'
import { TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { checkedFetch } from '../support/wires/serialItems.ts'

const SIGNATURE = { google: { thought_signature: 'c2lnbmVk'.repeat(600) } }
const OSLO = { name: 'weather', arguments: '{"city":"Oslo"}' }
const BERGEN = { name: 'weather', arguments: '{"city":"Bergen"}' }
const SCHEMA = { type: 'object' as const, properties: {} }
const asked = 'Where does it rain?'

let stack: Stack
let provider: TurnProvider
let openai: OpenAI
let anthropic: Anthropic

before(async () => {
  provider = await TurnProvider.start(({ body }) =>
    JSON.stringify(body['messages']).includes('rain.')
      ? { text: 'In Oslo.' }
      : { reasoning: 'hm', text: 'I look.', calls: [{ ...OSLO, extra: SIGNATURE }, BERGEN] },
  )
  const providers = [
    { id: 'signing', dialect: 'openai', extra_members: ['extra_content'] },
    { id: 'plain', dialect: 'openai' },
    { id: 'blocks', dialect: 'anthropic' },
  ].map((own) => ({ ...own, base_url: provider.url }))
  stack = await startStack({
    catalog: {
      providers,
      models: turnModels(providers.map(({ id }) => id)),
    },
  })
  const { apiKey } = await stack.createAccount()
  openai = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0, fetch: checkedFetch })
  anthropic = new Anthropic({ baseURL: stack.baseUrl, apiKey, maxRetries: 0 })
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

/** Asks the model whose calls are signed, and answers all but the first call to the model of each provider. */
type Conversation = (isStream: boolean, next: readonly string[]) => Promise<void>

const chats: Conversation = async (isStream, next) => {
  const first = { role: 'user', content: asked } as const
  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: SCHEMA } }]
  const body = { model: 'test/signing', messages: [first], tools }
  const { choices } = isStream
    ? await openai.chat.completions.stream(body).finalChatCompletion()
    : await openai.chat.completions.create(body)
  const { message } = itemOf(choices, 0)
  const results = (message.tool_calls ?? []).map(
    ({ id }) => ({ role: 'tool', tool_call_id: id, content: 'It rains, rain.' }) as const,
  )
  for (const model of next) {
    await openai.chat.completions.create({ model, messages: [first, message, ...results], tools })
  }
}

const messages: Conversation = async (isStream, next) => {
  const first = { role: 'user', content: asked } as const
  const tools = [{ name: 'weather', input_schema: SCHEMA }]
  const body = { model: 'test/signing', max_tokens: 100, messages: [first], tools }
  const { content } = isStream
    ? await anthropic.messages.stream(body).finalMessage()
    : await anthropic.messages.create(body)
  const results = content
    .filter((block) => block.type === 'tool_use')
    .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'It rains, rain.' }) as const)
  const said = [first, { role: 'assistant', content } as const, { role: 'user', content: results } as const]
  for (const model of next) await anthropic.messages.create({ model, max_tokens: 100, messages: said, tools })
}

const responses: Conversation = async (isStream, next) => {
  const first = { role: 'user', content: asked } as const
  const tools = [{ type: 'function' as const, name: 'weather', parameters: SCHEMA, strict: false }]
  const include: OpenAI.Responses.ResponseIncludable[] = ['reasoning.encrypted_content']
  const body = { model: 'test/signing', input: [first], tools, include }
  const { output } = isStream
    ? await openai.responses.stream(body).finalResponse()
    : await openai.responses.create(body)
  const results = output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output', call_id: item.call_id, output: 'It rains, rain.' } as const]
      : [],
  )
  const history = output as OpenAI.Responses.ResponseInputItem[]
  for (const model of next) {
    await openai.responses.create({ model, input: [first, ...history, ...results], tools, include })
  }
}

/** The members of calls that a provider was sent, call by call. */
function sentMembers(body: Readonly<Record<string, unknown>>): unknown[] {
  const turns = body['messages'] as readonly { readonly tool_calls?: readonly Record<string, unknown>[] }[]
  return turns.flatMap(({ tool_calls: calls = [] }) => calls.map(({ extra_content: member }) => member))
}

describe('the member of a call comes back', () => {
  for (const [format, converse] of Object.entries({ chats, messages, responses })) {
    for (const isStream of [true, false]) {
      test(`through ${format}, ${isStream ? 'streamed' : 'in one piece'}`, async () => {
        await converse(isStream, ['test/signing', 'test/plain', 'test/blocks'])
        const [signing, plain, blocks] = provider.asked.slice(-3).map(({ body }) => body)
        assert.deepEqual(sentMembers(signing ?? {}), [SIGNATURE, undefined])
        assert.deepEqual(sentMembers(plain ?? {}), [undefined, undefined])
        assert.doesNotMatch(JSON.stringify([plain, blocks]), /redacted|signature|extra_content|slu1/)
      })
    }
  }
})

test('the member of a message without a call comes back through chats', async () => {
  for (const model of ['test/signing', 'test/plain', 'test/blocks']) {
    const answer = { role: 'assistant', content: 'In Oslo.', extra_content: SIGNATURE } as const
    const silent = { role: 'assistant', content: '', extra_content: SIGNATURE } as const
    const again = { role: 'user', content: 'Really?' } as const
    await openai.chat.completions.create({
      model,
      messages: [{ ...again, content: asked }, answer, again, silent, again],
    })
  }
  const [signing, plain, blocks] = provider.asked.slice(-3).map(({ body }) => body['messages'] as readonly object[])
  const members = (turns: readonly object[] = []) => turns.map((turn) => Reflect.get(turn, 'extra_content') as unknown)
  assert.deepEqual(members(signing), [undefined, SIGNATURE, undefined, undefined])
  assert.deepEqual(members(plain), [undefined, undefined, undefined, undefined])
  assert.doesNotMatch(JSON.stringify([plain, blocks]), /signature/)
})
