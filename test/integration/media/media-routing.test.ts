// Goal: who may serve what is not chat, at which tier's price, and how often providers are asked.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertError, receiptOf } from '../../support/clients/chatClient.ts'
import { answered, mediaModel, postForm, postJson } from '../../support/clients/mediaClient.ts'
import { servedFor } from '../../support/reconcile.ts'
import { wavFile } from '../../support/samples/audio.ts'
import { type Stack, startStack, type TestAccount } from '../../support/stack.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex')
const DOWN = { provider: 'down', model: 'any' }

let stack: Stack
let apiKey: string
let privateKey: string
let quietKey: string
let limitedKey: string

const twoRoutes = (first: string) => ({
  routes: [
    { provider: 'mock', model: first },
    { provider: 'mock', model: 'mock' },
  ],
})
const FIRSTS = {
  failing: 'mock,error=503',
  silent: 'mock,slow_headers=60000',
  reset: 'mock,reset',
  broken: 'mock,badjson',
  gateway: 'mock,error=504',
}

before(async () => {
  const kept = { routes: [{ provider: 'keeper', model: 'mock' }] }
  stack = await startStack({
    limits: { firstByteTimeoutMs: 10_000, breakerFailures: 1_000 },
    catalog: {
      providers: [
        { id: 'mock' },
        { id: 'keeper', data_policy: 'retained' },
        { id: 'down', base_url: 'http://127.0.0.1:9/v1' },
      ],
      models: [
        mediaModel('test/embedding', 'embedding'),
        mediaModel('test/image', 'image', 'mock', {
          price: { image: '0.04', sizes: { '1024x1024': '0.05' } },
        }),
        mediaModel('test/speech', 'speech'),
        mediaModel('test/transcription', 'transcription'),
        mediaModel('test/rerank', 'rerank'),
        mediaModel('test/public', 'rerank'),
        mediaModel('test/kept', 'rerank', 'mock', kept),
        mediaModel('test/kept-audio', 'transcription', 'mock', kept),
        ...Object.entries(FIRSTS).flatMap(([name, first]) => [
          mediaModel(`test/image-${name}`, 'image', 'mock', twoRoutes(first)),
          mediaModel(`test/rerank-${name}`, 'rerank', 'mock', twoRoutes(first)),
        ]),
        mediaModel('test/image-down', 'image', 'mock', { routes: [DOWN, { provider: 'mock', model: 'mock' }] }),
      ],
    },
  })
  const account: TestAccount = await stack.createAccount({ credits: '100' })
  apiKey = account.apiKey
  privateKey = await newKey(account, '--private-tier')
  quietKey = await newKey(account, '--no-logs')
  limitedKey = await newKey(account, '--model', 'test/rerank')
})
after(() => stack.finish())

async function newKey({ accountId }: TestAccount, ...args: string[]): Promise<string> {
  const { code, json, stderr } = await stack.cli('key', 'create', accountId, ...args)
  assert.equal(code, 0, stderr)
  return (json as { api_key: string }).api_key
}

const rerank = (key: string, model: string, more = {}) =>
  postJson(`${stack.baseUrl}/v1/rerank`, key, { model, query: 'q', documents: ['a'], ...more })

test('keys on the private tier are served only by attested hardware, which serves only chat', async () => {
  const url = (path: string) => `${stack.baseUrl}/v1/${path}`
  const image = { model: 'test/image', prompt: 'x' }
  const audio = { model: 'test/transcription', file: wavFile(1) }
  const replies = async (key: string) => [
    await postJson(url('embeddings'), key, { model: 'test/embedding', input: 'abcd' }),
    await postJson(url('images/generations'), key, { ...image, size: '1024x1024' }),
    await postJson(url('audio/speech'), key, { model: 'test/speech', input: 'abcd' }),
    await postForm(url('audio/transcriptions'), key, audio),
    await rerank(key, 'test/rerank'),
  ]
  const costs = (await replies(apiKey)).map((reply) => reply.headers.get('x-cost-units'))
  assert.deepEqual(costs, ['100', '50000000', '60000', '100000', '2000000'])
  for (const reply of await replies(privateKey)) assertError(reply, 404, 'no_route_for_policy')
  assertError(await rerank(privateKey, 'test/rerank:batch'), 400, 'private_batch_unavailable')
})

test('providers that retain data serve only requests that allow it', async () => {
  assertError(await rerank(apiKey, 'test/kept'), 404, 'no_route_for_policy')
  answered(await rerank(apiKey, 'test/kept', { provider: { allow_retention: true } }))
  assertError(await rerank(apiKey, 'test/kept', { provider: { allow_retention: false } }), 404, 'no_route_for_policy')
  assertError(await rerank(quietKey, 'test/kept'), 404, 'no_route_for_policy')
  const url = `${stack.baseUrl}/v1/audio/transcriptions`
  const audio = { model: 'test/kept-audio', file: wavFile(1) }
  answered(await postForm(url, apiKey, { ...audio, provider: '{"allow_retention":true}' }))
  for (const provider of [{}, { provider: '{"allow_retention":false}' }, { 'provider[allow_retention]': 'false' }]) {
    assertError(await postForm(url, apiKey, { ...audio, ...provider }), 404, 'no_route_for_policy')
  }
})

test('a key serves only the models of its allowlist', async () => {
  answered(await rerank(limitedKey, 'test/rerank'))
  assertError(await rerank(limitedKey, 'test/public'), 403, 'model_not_allowed', 'model')
})

for (const name of Object.keys(FIRSTS)) {
  test(`rerank: a first route that is ${name} fails over to the second`, async () => {
    const { receipt } = answered(await rerank(apiKey, `test/rerank-${name}`))
    assert.ok(servedFor(receipt.request_id, await stack.provider.log()).some((line) => line.outcome === 'complete'))
  })
}

const SERVED_ELSEWHERE = ['failing']
for (const name of Object.keys(FIRSTS)) {
  const elsewhere = SERVED_ELSEWHERE.includes(name)
  test(`images: a first route that is ${name} does ${elsewhere ? '' : 'not '}fail over`, async () => {
    const before = (await stack.provider.log()).length
    const body = { model: `test/image-${name}`, prompt: 'x' }
    const reply = await postJson(`${stack.baseUrl}/v1/images/generations`, apiKey, body)
    const id = reply.headers.get('x-request-id') ?? ''
    assert.equal(reply.status === 200, elsewhere, reply.text)
    assert.equal((await receiptOf(stack.baseUrl, apiKey, id)).status, elsewhere ? 'ok' : 'failed')
    const asked = (await stack.provider.log()).slice(before).filter((line) => line.request_id === id)
    assert.equal(asked.filter((line) => line.outcome === 'complete').length, elsewhere ? 1 : 0)
  })
}

test('images: an unreachable route counts as not called', async () => {
  const body = { model: 'test/image-down', prompt: 'x', image: PNG }
  answered(await postJson(`${stack.baseUrl}/v1/images/generations`, apiKey, body))
  answered(await postForm(`${stack.baseUrl}/v1/images/edits`, apiKey, body))
})
