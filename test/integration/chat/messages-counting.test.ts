import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { assertError } from '../../support/clients/chatClient.ts'
import { both, countTokens, DIALECT_PROVIDERS } from '../../support/clients/messagesClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const TOOL = { name: 'get', description: 'gets', input_schema: { type: 'object', properties: {} } }

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    limits: { countsPerKeyMax: 2 },
    catalog: {
      providers: DIALECT_PROVIDERS,
      models: [
        ...both('plain', 'mock,chunks=4'),
        ...both('nocount', 'mock,nocount'),
        ...both('vast', 'mock,nocount', { context: 100_000_000 }),
        ...both('counts', 'mock,prompt=4711'),
        ...both('nocount-bad', 'mock,error=400'),
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(() => stack.finish())

describe('counting tokens', () => {
  const count = async (model: string, body: object = {}) => {
    const reply = await countTokens(stack.baseUrl, apiKey, { model, ...body })
    assert.equal(reply.status, 200, reply.text)
    return JSON.parse(reply.text) as { input_tokens: number; estimated?: boolean }
  }

  test('of a text of several mebibytes, by a sample of it', async () => {
    const sentence = 'The quick brown fox jumps over the lazy dog. '
    const repeats = Math.ceil((3 * 1_048_576) / sentence.length)
    const body = { model: 'openai/vast', messages: [{ role: 'user', content: sentence.repeat(repeats) }] }
    const reply = await countTokens(stack.baseUrl, apiKey, body)
    const { input_tokens: tokens, estimated } = JSON.parse(reply.text) as { input_tokens: number; estimated: boolean }
    // Ten tokens a sentence.
    assert.ok(Math.abs(tokens / (10 * repeats) - 1) < 0.05, `${tokens} tokens of ${repeats} sentences`)
    assert.equal(estimated, true)
  })

  test('is exact where the provider counts, and is free', async () => {
    assert.deepEqual(await count('anthropic/counts', { system: 's', tools: [TOOL], max_tokens: 5, stream: true }), {
      input_tokens: 4_711,
    })
    const line = (await stack.provider.log()).at(-1)
    assert.deepEqual([line?.path, line?.model], ['/v1/messages/count_tokens', 'mock,prompt=4711'])
    const balance = await stack.createAccount({ credits: '0.00000001' })
    const reply = await countTokens(stack.baseUrl, balance.apiKey, { model: 'anthropic/counts' })
    assert.equal(reply.status, 200)
  })

  test('uses a tokenizer if no provider counts, with all content that the model reads', async () => {
    for (const model of ['openai/plain', 'anthropic/nocount']) {
      const small = await count(model)
      assert.deepEqual(small, { input_tokens: 1 + 4 + 3, estimated: true })
      const system = await count(model, { system: 'The quick brown fox jumps over the lazy dog.' })
      assert.ok(system.input_tokens >= small.input_tokens + 10 && system.input_tokens <= small.input_tokens + 20)
      const tools = await count(model, { tools: [TOOL] })
      assert.ok(tools.input_tokens > small.input_tokens + 10)
      const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
      const seenImage = await count(model, { messages: [{ role: 'user', content: [image] }] })
      assert.ok(seenImage.input_tokens >= 1_500)
    }
  })

  test('needs a key, and checks as the request itself would', async () => {
    const body = { model: 'anthropic/counts' }
    assertError(await countTokens(stack.baseUrl, '', body), 401, 'invalid_api_key')
    assertError(await countTokens(stack.baseUrl, apiKey, { model: 'x' }), 404, 'model_not_found', 'model')
    assertError(await countTokens(stack.baseUrl, apiKey, { ...body, messages: [] }), 400, null, 'messages')
    assertError(await countTokens(stack.baseUrl, apiKey, { ...body, system: 7 }), 400, null, 'system')
    assertError(await countTokens(stack.baseUrl, apiKey, { model: 'anthropic/nocount-bad' }), 400, 'upstream_rejected')
    const long = { messages: [{ role: 'user', content: 'x'.repeat(8 * 128_000 + 1) }] }
    assertError(await countTokens(stack.baseUrl, apiKey, { ...body, ...long }), 400, 'context_length_exceeded')
  })

  test('concurrent counts are limited per key, and the limit is reported', async () => {
    const text = { messages: [{ role: 'user', content: 'some words '.repeat(20_000) }] }
    const replies = await Promise.all(
      Array.from({ length: 40 }, () => countTokens(stack.baseUrl, apiKey, { model: 'openai/plain', ...text })),
    )
    const refused = replies.filter((reply) => reply.status !== 200)
    assert.ok(refused.length > 0 && refused.length < 40)
    for (const reply of refused) {
      assertError(reply, 429, 'rate_limited')
      assert.equal(reply.headers.get('retry-after'), '1')
    }
    assert.equal((await count('openai/plain')).estimated, true)
  })
})
