import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { after, before, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { clipByte } from '../../../mock/main.ts'
import { assertError, receiptOf } from '../../support/clients/chatClient.ts'
import {
  clipOf,
  contentReply,
  generate,
  newVideo,
  providerVideos,
  releaseVideos,
  SECOND_UNITS,
  videoIn,
  videoModel,
  videoReply,
} from '../../support/clients/videoClient.ts'
import { present } from '../../support/present.ts'
import { assertSecondsReconciled } from '../../support/reconcile.ts'
import { residentBytes } from '../../support/residentBytes.ts'
import { type Stack, startStack, type TestAccount, until } from '../../support/stack.ts'
import { untilStill } from '../../support/until.ts'

const POLL_MIN_MS = 50
const FLOOD_BYTES = 100_000_000
const HELD_UP = 8

let stack: Stack
let account: TestAccount

before(async () => {
  stack = await startStack({
    workers: 2,
    limits: { videoPollMinMs: POLL_MIN_MS, videoPollMaxMs: 60_000 },
    catalog: {
      models: [
        { id: 'test/small' },
        videoModel('test/clip', 'mock,make=300'),
        videoModel('test/held', 'mock,video=held'),
        videoModel('test/queued', 'mock,queue=1500,video=held'),
        videoModel('test/short', 'mock,make=100,seconds=3'),
        videoModel('test/long', 'mock,make=100,seconds=20'),
        videoModel('test/none', 'mock,make=100,seconds=0'),
        videoModel('test/silent', 'mock,make=100,noseconds'),
        videoModel('test/failing', 'mock,make=200,video=failed'),
        videoModel('test/large', 'mock,clip=20000000'),
        videoModel('test/flood', `mock,clip=${FLOOD_BYTES}`),
      ],
    },
  })
  account = await stack.createAccount({ credits: '100' })
})

after(() => stack.finish())

async function completed(model: string, body: Record<string, unknown> = {}) {
  const job = await newVideo(stack.baseUrl, account.apiKey, { model, ...body })
  return videoIn(stack.baseUrl, account.apiKey, job.id, ['completed', 'failed'])
}

test('a job is accepted, run, charged by its seconds and fetched', async () => {
  const taken = await newVideo(stack.baseUrl, account.apiKey, { model: 'test/held', seconds: 8 })
  assert.deepEqual([taken.object, taken.status, taken.seconds, taken.model], ['video', 'in_progress', '8', 'test/held'])
  assert.deepEqual(taken.hold, { units: String(8 * SECOND_UNITS), usd: '0.8', coin: '0.8' })
  assert.deepEqual([taken.receipt, taken.error, taken.completed_at, taken.expires_at], [null, null, null, null])
  const own = `${stack.baseUrl}/v1/videos/${taken.id}`
  assert.deepEqual([taken.poll, taken.content], [own, `${own}/content`])
  const notReady = await contentReply(stack.baseUrl, account.apiKey, taken.id)
  assertError(notReady, 409, 'video_not_ready')
  assert.equal(notReady.headers.get('x-should-retry'), 'false')

  await releaseVideos(stack)
  const done = await videoIn(stack.baseUrl, account.apiKey, taken.id, ['completed'])
  assert.equal(done.progress, 100)
  assert.equal(Number(done.expires_at) - Number(done.completed_at), 1_800)
  assert.ok(done.receipt !== null)
  assert.deepEqual([done.receipt.request_id, done.receipt.status], [taken.request_id, 'ok'])
  assert.deepEqual([done.receipt.usage.quantity, done.receipt.usage.unit], [8, 'second'])
  assert.equal(done.receipt.usage_source, 'reported')
  assertSecondsReconciled(done.receipt, await providerVideos(stack), SECOND_UNITS)
  const reply = await videoReply(stack.baseUrl, account.apiKey, taken.id)
  assert.equal(reply.headers.get('x-cost-units'), String(8 * SECOND_UNITS))

  const clip = await clipOf(stack.baseUrl, account.apiKey, taken.id)
  assert.equal(clip.length, 65_536)
  assert.ok(clip.every((byte, at) => byte === clipByte(at)))
  await stack.settled()
  const booked = await receiptOf(stack.baseUrl, account.apiKey, taken.request_id)
  assert.deepEqual({ ...booked, log: undefined }, { ...done.receipt, log: undefined })
})

test('the provider request contains only the request of the client', async () => {
  const job = await completed('test/clip', { seconds: '12', user: 'x', n: 2, webhook_url: 'http://x' })
  const made = (await providerVideos(stack)).find((entry) => entry.request_id === job.request_id)
  assert.deepEqual(made?.body, { model: 'mock,make=300', prompt: 'a cat', seconds: '12' })
})

test('without seconds a clip has the first length that the model offers', async () => {
  const job = await completed('test/clip')
  assert.deepEqual([job.seconds, job.receipt?.cost.units], ['4', String(4 * SECOND_UNITS)])
})

test('states advance in order, as seen from every worker', async () => {
  const taken = await newVideo(stack.baseUrl, account.apiKey, { model: 'test/queued' })
  assert.equal(taken.status, 'queued')
  const seen: string[] = [taken.status]
  for (let last: string = taken.status; last !== 'completed'; ) {
    const { status, progress } = JSON.parse((await videoReply(stack.baseUrl, account.apiKey, taken.id)).text)
    if (status !== last) seen.push(status)
    if (status === 'in_progress') await releaseVideos(stack)
    assert.ok(progress >= 0 && progress <= 100 && (progress === 100) === (status === 'completed'))
    last = status
  }
  assert.deepEqual(seen, ['queued', 'in_progress', 'completed'])
})

for (const { model, seconds, units, source, clamped } of [
  { model: 'test/short', seconds: '3', units: 3, source: 'reported', clamped: false },
  { model: 'test/long', seconds: '20', units: 4, source: 'reported', clamped: true },
  { model: 'test/none', seconds: '0', units: 0, source: 'reported', clamped: false },
  { model: 'test/silent', seconds: '4', units: 4, source: 'estimated', clamped: false },
]) {
  test(`the charge is the usage reported by the provider, at most the hold: ${model}`, async () => {
    const { receipt, ...job } = await completed(model)
    assert.equal(job.seconds, seconds)
    assert.deepEqual(
      [receipt?.cost.units, receipt?.usage_source, receipt?.clamped, receipt?.status],
      [String(units * SECOND_UNITS), source, clamped, 'ok'],
    )
  })
}

test('a failed job is not charged and states the reason', async () => {
  const job = await completed('test/failing')
  assert.deepEqual([job.status, job.error?.code, job.receipt], ['failed', 'video_failed', null])
  assert.match(job.error?.message ?? '', /The clip was blocked/)
  const content = await contentReply(stack.baseUrl, account.apiKey, job.id)
  const error = assertError(content, 409, 'video_failed')
  assert.equal(error.type, 'upstream_error')
  assert.equal(content.headers.get('x-should-retry'), 'false')
  await stack.settled()
  const receipt = await receiptOf(stack.baseUrl, account.apiKey, job.request_id)
  assert.deepEqual([receipt.status, receipt.cost.units, receipt.error], ['failed', '0', 'video_failed'])
})

test('a clip of any size is streamed with backpressure from a slow client', async () => {
  const job = await completed('test/large')
  const response = await fetch(`${stack.baseUrl}/v1/videos/${job.id}/content`, {
    headers: { authorization: `Bearer ${account.apiKey}` },
  })
  let at = 0
  for await (const piece of response.body ?? []) {
    const bytes = piece as Uint8Array
    for (const byte of bytes) assert.equal(byte, clipByte(at++))
  }
  assert.equal(at, 20_000_000)
  const head = await fetch(`${stack.baseUrl}/v1/videos/${job.id}/content`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${account.apiKey}` },
  })
  const [type, length] = ['content-type', 'content-length'].map((name) => head.headers.get(name))
  assert.deepEqual([head.status, type, length], [200, 'video/mp4', null])
})

test('clips without a reader stop at the provider, with bounded memory', async () => {
  const job = await completed('test/flood')
  const before = await residentBytes(stack)
  const path = `/v1/videos/${job.id}/content`
  const calls = Array.from({ length: HELD_UP }, () =>
    request(stack.baseUrl + path, { agent: false, headers: { authorization: `Bearer ${account.apiKey}` } }).end(),
  )
  const answers = await Promise.all(calls.map(async (call) => (await once(call, 'response'))[0] as IncomingMessage))
  const sent = await untilStill('the provider sends nothing more', async () => {
    const sold = (await providerVideos(stack)).find((entry) => entry.request_id === job.request_id)
    return sold?.clip_bytes_sent ?? 0
  })
  // What the sockets on the way hold is the system's; all clips together would be four times as much.
  assert.ok(sent < (HELD_UP * FLOOD_BYTES) / 4, `${sent} bytes have left the provider`)
  const grown = (await residentBytes(stack)) - before
  assert.ok(grown < 100_000_000, `${grown} bytes more`)
  const [first, ...others] = answers
  for (const other of others) other.destroy()
  let bytes = 0
  for await (const part of present(first)) bytes += (part as Buffer).length
  assert.equal(bytes, FLOOD_BYTES)
})

test('a read of a job at any worker triggers a poll of its provider, within the poll rate limit', async () => {
  const { id, request_id: requestId } = await newVideo(stack.baseUrl, account.apiKey, { model: 'test/held' })
  const polls = async () => (await providerVideos(stack)).find((job) => job.request_id === requestId)?.polls ?? 0
  // Left alone, the pauses between two questions have grown long.
  await until('the job was asked about a few times', async () => (await polls()) >= 6)
  const before = await polls()
  const startedMs = Date.now()
  const headers = { authorization: `Bearer ${account.apiKey}`, connection: 'close' }
  while ((await polls()) < before + 6) {
    const response = await fetch(`${stack.baseUrl}/v1/videos/${id}`, { headers })
    assert.equal(response.status, 200)
    await response.arrayBuffer()
    // Left alone, as many questions would take two minutes and more.
    assert.ok(Date.now() - startedMs < 60_000, `${(await polls()) - before} questions in 60 s`)
  }
  // The first of them may have been on its way before.
  assert.ok(Date.now() - startedMs >= 4 * POLL_MIN_MS, 'the provider was asked too often')
  await releaseVideos(stack)
})

test('jobs are visible only to the key that created them', async () => {
  const job = await completed('test/clip')
  const other = await stack.createAccount()
  for (const read of [videoReply, contentReply]) {
    assertError(await read(stack.baseUrl, other.apiKey, job.id), 403, 'permission_denied')
    assertError(await read(stack.baseUrl, '', job.id), 401, 'invalid_api_key')
    assertError(await read(stack.baseUrl, `rt_${'a'.repeat(43)}`, job.id), 403, 'wrong_credential')
    assertError(await read(stack.baseUrl, account.apiKey, newId('video')), 404, 'not_found')
    assertError(await read(stack.baseUrl, account.apiKey, 'video_x'), 404, 'not_found')
    assertError(await read(stack.baseUrl, '', 'video_x'), 401, 'invalid_api_key')
  }
})

test('other methods get 405 with the supported ones', async () => {
  const headers = { authorization: `Bearer ${account.apiKey}` }
  for (const [path, method, allow] of [
    ['/v1/videos/generations', 'GET', 'POST, OPTIONS'],
    ['/v1/videos/video_x', 'POST', 'GET, HEAD, OPTIONS'],
    ['/v1/videos/video_x', 'DELETE', 'GET, HEAD, OPTIONS'],
    ['/v1/videos/video_x/content', 'PUT', 'GET, HEAD, OPTIONS'],
  ] as const) {
    const response = await fetch(`${stack.baseUrl}${path}`, { method, headers })
    const reply = { status: response.status, headers: response.headers, text: await response.text() }
    assertError(reply, 405, 'method_not_allowed')
    assert.equal(response.headers.get('allow'), allow)
  }
})

test('the worst case is held, and a balance below it is rejected', async () => {
  const poor = await stack.createAccount({ credits: '0.5' })
  assertError(
    await generate(stack.baseUrl, poor.apiKey, { model: 'test/clip', seconds: 8 }),
    402,
    'insufficient_balance',
  )
  const capped = await stack.createAccount({ args: ['--cap-hour', '0.3'] })
  assertError(await generate(stack.baseUrl, capped.apiKey, { model: 'test/clip' }), 402, 'spend_limit_exceeded')
  const job = await newVideo(stack.baseUrl, poor.apiKey, { model: 'test/clip', seconds: 4 })
  await videoIn(stack.baseUrl, poor.apiKey, job.id, ['completed'])
})

test('the models list states the settings of a model', async () => {
  const response = await fetch(`${stack.baseUrl}/v1/models/test/clip`)
  const { video } = (await response.json()) as { video: unknown }
  assert.deepEqual(video, {
    seconds: [4, 8, 12],
    image: 'none',
    aspect_ratios: [],
    resolution: null,
    negative_prompt_max: null,
    prompt_max: 4_000,
  })
})
