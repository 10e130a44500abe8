// Goal: what is not chat is charged what the provider reported, never more than was held, and nothing when it failed.
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { assertError, type Reply, receiptOf } from '../../support/clients/chatClient.ts'
import { answered, mediaModel, postForm, postJson } from '../../support/clients/mediaClient.ts'
import { limits } from '../../support/limits.ts'
import { memberOf } from '../../support/present.ts'
import { assertCounted, type CountedReceipt, type MediaModality, priceOf, servedFor } from '../../support/reconcile.ts'
import { mp3Frames, opusFile, wavFile } from '../../support/samples/audio.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex')
const USAGES = ['none', 'zero', 'negative', 'fractional', 'absurd'] as const

let stack: Stack
let apiKey: string

/** A sound request of each operation, for a model of its own. */
const REQUESTS: Record<string, { modality: MediaModality; send: (model: string) => Promise<Reply> }> = {
  embeddings: { modality: 'embedding', send: (model) => json('embeddings', { model, input: ['hello', 'world'] }) },
  images: { modality: 'image', send: (model) => json('images/generations', { model, prompt: 'a cat', n: 2 }) },
  edits: { modality: 'image', send: (model) => form('images/edits', { model, prompt: 'a cat', image: PNG, n: 2 }) },
  transcriptions: {
    modality: 'transcription',
    send: (model) => form('audio/transcriptions', { file: wavFile(10), model }),
  },
  rerank: {
    modality: 'rerank',
    send: (model) => json('rerank', { model, query: 'q', documents: Array.from({ length: 250 }, (_, i) => `${i}`) }),
  },
  speech: { modality: 'speech', send: (model) => json('audio/speech', { model, input: 'Grüße 👍' }) },
}
const MODALITIES = ['embedding', 'image', 'transcription', 'rerank', 'speech'] as const

const json = (path: string, body: unknown) => postJson(`${stack.baseUrl}/v1/${path}`, apiKey, body)
const form = (path: string, fields: Record<string, unknown>) => postForm(`${stack.baseUrl}/v1/${path}`, apiKey, fields)

before(async () => {
  const faults = ['error=500', 'error=400', 'error=429', 'reset', 'html200', 'badjson', 'cut=0', 'hang=0']
  stack = await startStack({
    limits: { firstByteTimeoutMs: 10_000, idleTimeoutMs: 10_000, breakerFailures: 1_000 },
    catalog: {
      models: MODALITIES.flatMap((modality) => [
        mediaModel(`test/${modality}`, modality),
        mediaModel(`test/${modality}-slow`, modality, 'mock,slow_headers=300'),
        mediaModel(`test/${modality}-silent`, modality, 'mock,slow_headers=60000'),
        ...USAGES.map((usage) => mediaModel(`test/${modality}-${usage}`, modality, `mock,usage=${usage}`)),
        ...faults.map((fault) => mediaModel(`test/${modality}-${fault.replace('=', '')}`, modality, `mock,${fault}`)),
        mediaModel(`test/${modality}-more`, modality, 'mock,prompt=50,images=5,seconds=15,searches=4'),
        mediaModel(`test/${modality}-less`, modality, 'mock,prompt=1,images=1,seconds=3,searches=1'),
      ]),
    },
  })
  apiKey = (await stack.createAccount({ credits: '1000' })).apiKey
})
after(() => stack.finish())

for (const [name, { modality, send }] of Object.entries(REQUESTS)) {
  if (name === 'speech') continue
  test(`${name}: charged as reported, and the receipt states the counted quantity`, async () => {
    const { receipt } = answered(await send(`test/${modality}`))
    assertCounted(receipt, modality, await stack.provider.log())
    assert.deepEqual([receipt.status, receipt.usage_source, receipt.clamped], ['ok', 'reported', false])
    const booked = await receiptOf(stack.baseUrl, apiKey, receipt.request_id)
    assert.deepEqual({ ...booked, log: undefined }, { ...receipt, log: undefined })
  })

  test(`${name}: usage below the hold is charged, the rest released`, async () => {
    const { receipt } = answered(await send(`test/${modality}-less`))
    assertCounted(receipt, modality, await stack.provider.log())
    assert.ok(Number(receipt.cost.units) < Number(receipt.hold.units))
  })

  test(`${name}: the charge never exceeds the hold`, async () => {
    const { receipt } = answered(await send(`test/${modality}-more`))
    assertCounted(receipt, modality, await stack.provider.log())
    assert.equal(receipt.clamped, true)
    assert.equal(receipt.cost.units, receipt.hold.units)
  })

  test(`${name}: a reported zero is zero`, async () => {
    const { receipt } = answered(await send(`test/${modality}-zero`))
    assert.deepEqual([receipt.cost.units, receipt.status], ['0', 'ok'])
  })
}

const MISSING: [name: string, due: number, source: string][] = [
  ['embeddings', priceOf('embedding', 4), 'estimated'],
  ['transcriptions', priceOf('transcription', 10), 'estimated'],
  ['rerank', priceOf('rerank', 3), 'reported'],
]
for (const [name, due, source] of MISSING) {
  for (const usage of USAGES) {
    if (usage === 'zero' || (usage === 'fractional' && name === 'transcriptions')) continue
    test(`${name}: usage that is ${usage} counts as missing`, async () => {
      const { modality, send } = memberOf(REQUESTS, name)
      const { receipt } = answered(await send(`test/${modality}-${usage}`))
      assert.deepEqual([receipt.cost.units, receipt.usage_source], [String(due), source])
    })
  }
}

test('transcriptions: a fraction of a second counts as one', async () => {
  const { receipt } = answered(await memberOf(REQUESTS, 'transcriptions').send('test/transcription-fractional'))
  assert.deepEqual([receipt.usage.quantity, receipt.usage.unit, receipt.usage_source], [2, 'second', 'reported'])
})

test('speech: charged by characters, not bytes', async () => {
  const reply = await memberOf(REQUESTS, 'speech').send('test/speech')
  assert.equal(reply.status, 200)
  const receipt = await receiptFor(reply)
  assert.deepEqual([receipt.usage.quantity, receipt.usage.unit, receipt.status], [7, 'character', 'ok'])
  assert.equal(reply.headers.get('x-cost-units'), receipt.cost.units)
  assertCounted(receipt, 'speech', await stack.provider.log())
})

/** Of more receipts of a key that are not booked yet, only some are waited for at once; the others are asked for again. */
async function receiptFor(reply: Reply): Promise<CountedReceipt> {
  const id = reply.headers.get('x-request-id') ?? ''
  const headers = { authorization: `Bearer ${apiKey}` }
  await until(
    'the receipt',
    async () => (await fetch(`${stack.baseUrl}/v1/receipts/${id}`, { headers })).status === 200,
  )
  return (await receiptOf(stack.baseUrl, apiKey, id)) as CountedReceipt
}

const FAILED: [fault: string, status: number, code: string][] = [
  ['error500', 502, 'upstream_unavailable'],
  ['error400', 400, 'upstream_rejected'],
  ['error429', 429, 'rate_limited'],
  ['reset', 502, 'upstream_unavailable'],
  ['html200', 502, 'upstream_unavailable'],
  ['badjson', 502, 'upstream_unavailable'],
  ['cut0', 502, 'upstream_unavailable'],
  ['hang0', 504, 'upstream_timeout'],
  ['silent', 504, 'upstream_timeout'],
]
// At once, because some wait for a deadline.
describe('provider failures', { concurrency: true }, () => {
  for (const [name, { modality, send }] of Object.entries(REQUESTS)) {
    for (const [fault, status, code] of FAILED) {
      test(`${name}: ${fault} at the provider returns ${code} and is not charged`, async () => {
        const reply = await send(`test/${modality}-${fault}`)
        assertError(reply, status, code)
        const receipt = await receiptFor(reply)
        assert.deepEqual([receipt.status, receipt.cost.units, receipt.error], ['failed', '0', code])
      })
    }
  }
})

for (const name of ['embeddings', 'images', 'rerank']) {
  test(`${name}: a client that disconnects is charged for the response that the provider produces`, async () => {
    const { modality } = memberOf(REQUESTS, name)
    const path = { embeddings: 'embeddings', images: 'images/generations', rerank: 'rerank' }[name]
    const body = { model: `test/${modality}-slow`, input: 'x', prompt: 'x', query: 'x', documents: ['a', 'b'] }
    const before = (await stack.provider.log()).length
    await stack.provider.hold()
    const call = httpRequest(`${stack.baseUrl}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
    })
    call.on('error', () => undefined)
    call.end(JSON.stringify(body))
    await stack.provider.leaveHeld(call)
    await until('the provider has answered', async () => (await stack.provider.log()).length > before)
    const [line] = (await stack.provider.log()).slice(before)
    assert.equal(line?.outcome, 'complete')
    await until('the request has ended', async () => (await activeRuns()) === 0)
    const receipt = (await receiptOf(stack.baseUrl, apiKey, line?.request_id ?? '')) as CountedReceipt
    assert.deepEqual([receipt.status, receipt.error], ['ok', 'client_gone'])
    assertCounted(receipt, modality, [line])
  })
}

async function activeRuns(): Promise<number> {
  return Number(/^sluice_active_runs (\d+)/m.exec(await (await fetch(stack.metricsUrl)).text())?.[1])
}

test('holds are the worst case of each operation', async () => {
  const held = async (reply: Promise<Reply>) => Number((await receiptFor(await reply)).hold.units)
  const text = 'x'.repeat(1_000)
  const model = 'test/embedding'
  assert.equal(await held(json('embeddings', { model, input: text })), priceOf('embedding', 1_000 + 8 + 16))
  assert.equal(await held(json('embeddings', { model, input: [1, 2, 3] })), priceOf('embedding', 3 + 8 + 16))
  assert.equal(await held(json('images/generations', { model: 'test/image', prompt: 'x', n: 3 })), priceOf('image', 3))
  const documents = Array.from({ length: 60 }, () => text)
  const ranked = json('rerank', { model: 'test/rerank', query: 'q', documents })
  // Documents of 1,001 bytes with their query: three pieces each at most, of which a hundred are a search.
  assert.equal(await held(ranked), priceOf('rerank', 2))
  const file = mp3Frames(1_000)
  const heard = form('audio/transcriptions', { file, model: 'test/transcription' })
  assert.equal(await held(heard), priceOf('transcription', Math.ceil((1_000 * 1_152) / 44_100)))
})

test('a balance below the worst case is rejected without a provider request', async () => {
  const poor = (await stack.createAccount({ credits: '0.0001' })).apiKey
  const before = (await stack.provider.log()).length
  const url = (path: string) => `${stack.baseUrl}/v1/${path}`
  const replies = [
    await postJson(url('images/generations'), poor, { model: 'test/image', prompt: 'x' }),
    await postJson(url('audio/speech'), poor, { model: 'test/speech', input: 'x'.repeat(100) }),
    await postForm(url('audio/transcriptions'), poor, { model: 'test/transcription', file: opusFile(100) }),
    await postJson(url('rerank'), poor, { model: 'test/rerank', query: 'x', documents: ['x'] }),
    await postJson(url('embeddings'), poor, { model: 'test/embedding', input: 'x'.repeat(5_000) }),
  ]
  for (const reply of replies) assertError(reply, 402, 'insufficient_balance')
  assert.equal((await stack.provider.log()).length, before)
})

test('audio that could be longer than four hours is rejected without a hold', async () => {
  const packets = Math.ceil(limits.audioSecondsMax / 0.12)
  const model = 'test/transcription'
  assert.equal((await form('audio/transcriptions', { model, file: opusFile(packets - 1) })).status, 200)
  assertError(await form('audio/transcriptions', { model, file: opusFile(packets + 1) }), 400, 'audio_too_long', 'file')
})

test('the provider is called once for each request', async () => {
  const reply = await memberOf(REQUESTS, 'images').send('test/image')
  const log = await stack.provider.log()
  assert.equal(servedFor(answered(reply).receipt.request_id, log).length, 1)
})
