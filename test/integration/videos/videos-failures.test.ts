// The provider fails at every step of a job, and so do Redis and the network; nobody pays for what was not made, and no
// provider is asked twice for what it may have taken.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { assertError, receiptOf } from '../../support/clients/chatClient.ts'
import {
  contentReply,
  generate,
  newVideo,
  providerVideos,
  SECOND_UNITS,
  type VideoObject,
  videoIn,
  videoModel,
  videoReply,
} from '../../support/clients/videoClient.ts'
import { itemOf } from '../../support/present.ts'
import { type Play, ScriptedProvider } from '../../support/providers/scriptedProvider.ts'
import { assertSecondsReconciled } from '../../support/reconcile.ts'
import { type Stack, startStack, type TestAccount } from '../../support/stack.ts'
import { testCatalog } from '../../support/testCatalog.ts'

const LIMITS = {
  videoPollMinMs: 40,
  videoPollMaxMs: 120,
  videoPollTimeoutMs: 3_000,
  videoJobMaxMs: 15_000,
  apiRequestsPerMinute: 60_000,
  apiRequestBurst: 10_000,
  firstByteTimeoutMs: 10_000,
  breakerFailures: 1_000_000,
}

let stack: Stack
let account: TestAccount
let scripted: ScriptedProvider
/** Requests that the scripted provider saw, by model. */
const asked = new Map<string, number>()

const json = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
const error = (response: ServerResponse, status: number): void => json(response, status, { error: { message: 'no' } })

/** What the scripted provider does when it is asked for a clip, by model. */
const PLAYS: Readonly<Record<string, Play>> = {
  cuts: (response) => response.destroy(),
  'cuts-late': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
    response.write('{"id":"v')
    setImmediate(() => response.destroy())
  },
  silent: () => undefined,
  'no-id': (response) => json(response, 200, { object: 'video', status: 'queued' }),
  'bad-id': (response) => json(response, 200, { id: 'a b', status: 'queued' }),
  'no-json': (response) => response.end('hello'),
  gzip: (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
    response.end('{"id":"v1","status":"queued"}')
  },
  huge: (response) => json(response, 200, { id: 'v1', status: 'queued', note: 'x'.repeat(400_000) }),
  ...Object.fromEntries(
    [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529].map((status) => [
      `status-${status}`,
      (response: ServerResponse) => error(response, status),
    ]),
  ),
}
const counted = Object.fromEntries(
  Object.entries(PLAYS).map(([name, play]): [string, Play] => [
    name,
    (response, body, request) => {
      asked.set(name, (asked.get(name) ?? 0) + 1)
      play(response, body, request)
    },
  ]),
)

before(async () => {
  scripted = await ScriptedProvider.start(counted)
  const first = (name: string) => [
    { provider: 'scripted', model: name },
    { provider: 'mock', model: `mock,seconds=4,text=after-${name}` },
  ]
  stack = await startStack({
    limits: LIMITS,
    catalog: (providerUrl) =>
      testCatalog(providerUrl, {
        providers: [
          { id: 'mock' },
          { id: 'scripted', base_url: scripted.url },
          { id: 'nobody', base_url: 'http://127.0.0.1:9' },
        ],
        models: [
          ...Object.keys(PLAYS).map((name) => videoModel(`test/${name}`, '', { routes: first(name) })),
          videoModel('test/unreachable', '', {
            routes: [
              { provider: 'nobody', model: 'x' },
              { provider: 'mock', model: 'mock,seconds=4' },
            ],
          }),
          videoModel('test/nowhere', '', { routes: [{ provider: 'nobody', model: 'x' }] }),
          videoModel('test/only-429', 'mock,error=429,retry_after=7'),
          videoModel('test/forgets', 'mock,make=60000,state_error=404'),
          videoModel('test/stutters', 'mock,make=100,state_fail_first=3'),
          videoModel('test/hesitates', 'mock,make=100,slow_headers=400'),
          videoModel('test/mute', 'mock,make=60000,state_error=503'),
          videoModel('test/stuck', 'mock,video=stuck'),
          videoModel('test/clip-500', 'mock,clip_error=500'),
          videoModel('test/clip-404', 'mock,clip_error=404'),
          videoModel('test/clip-302', 'mock,clip_error=302'),
          videoModel('test/clip-cut', 'mock,clip=300000,clip_cut=100000'),
        ],
      }),
  })
  account = await stack.createAccount({ credits: '1000' })
})

after(async () => {
  await stack.finish()
  await scripted.stop()
})

const make = (name: string) => generate(stack.baseUrl, account.apiKey, { model: `test/${name}` })

async function servedElsewhere(name: string): Promise<number> {
  return (await providerVideos(stack)).filter((job) => job.model.endsWith(`after-${name}`)).length
}

// Whether a provider has taken the job is open, so that no other may be asked.
for (const [name, status, code] of [
  ['cuts', 502, 'upstream_unavailable'],
  ['cuts-late', 502, 'upstream_unavailable'],
  ['silent', 504, 'upstream_timeout'],
  ['no-id', 502, 'upstream_unavailable'],
  ['bad-id', 502, 'upstream_unavailable'],
  ['no-json', 502, 'upstream_unavailable'],
  ['gzip', 502, 'upstream_unavailable'],
  ['huge', 502, 'upstream_unavailable'],
  ['status-408', 504, 'upstream_timeout'],
  ['status-500', 502, 'upstream_unavailable'],
  ['status-502', 502, 'upstream_unavailable'],
  ['status-503', 502, 'upstream_unavailable'],
  ['status-504', 504, 'upstream_timeout'],
  ['status-529', 502, 'upstream_unavailable'],
  // The request is at fault, and the provider's own status says how.
  ['status-400', 400, 'upstream_rejected'],
  ['status-409', 409, 'upstream_rejected'],
  ['status-413', 413, 'upstream_rejected'],
  ['status-422', 422, 'upstream_rejected'],
] as const) {
  test(`called once and not failed over: ${name}`, async () => {
    const reply = await make(name)
    assertError(reply, status, code)
    assert.equal(asked.get(name), 1)
    assert.equal(await servedElsewhere(name), 0)
    await stack.settled()
    const receipt = await receiptOf(stack.baseUrl, account.apiKey, reply.headers.get('x-request-id') ?? '')
    assert.deepEqual([receipt.status, receipt.cost.units, receipt.error], ['failed', '0', code])
  })
}

for (const name of ['status-401', 'status-402', 'status-403', 'status-404', 'status-429']) {
  test(`a route that rejects before accepting the job fails over: ${name}`, async () => {
    const reply = await make(name)
    assert.equal(reply.status, 202, reply.text)
    const { id } = JSON.parse(reply.text) as VideoObject
    const { receipt } = await videoIn(stack.baseUrl, account.apiKey, id, ['completed'])
    assert.equal(receipt?.cost.units, String(4 * SECOND_UNITS))
    assert.deepEqual([asked.get(name), await servedElsewhere(name)], [1, 1])
  })
}

test('an unreachable route fails over', async () => {
  const { id } = await newVideo(stack.baseUrl, account.apiKey, { model: 'test/unreachable' })
  await videoIn(stack.baseUrl, account.apiKey, id, ['completed'])
  assertError(await make('nowhere'), 502, 'upstream_unavailable')
  const limited = await make('only-429')
  assertError(limited, 429, 'rate_limited')
  assert.equal(limited.headers.get('retry-after'), '7')
})

test('a provider with transient errors during a job is polled again', async () => {
  const { id } = await newVideo(stack.baseUrl, account.apiKey, { model: 'test/stutters' })
  const { receipt } = await videoIn(stack.baseUrl, account.apiKey, id, ['completed'])
  assert.ok(receipt !== null)
  assertSecondsReconciled(receipt, await providerVideos(stack), SECOND_UNITS)
})

for (const [name, reason] of [
  ['forgets', /does not know the job/],
  ['mute', /took too long/],
  ['stuck', /took too long/],
] as const) {
  test(`a job that the provider does not end times out: ${name}`, async () => {
    const { id, request_id: requestId } = await newVideo(stack.baseUrl, account.apiKey, { model: `test/${name}` })
    const job = await videoIn(stack.baseUrl, account.apiKey, id, ['failed'])
    assert.match(job.error?.message ?? '', reason)
    assertError(await contentReply(stack.baseUrl, account.apiKey, id), 409, 'video_failed')
    await stack.settled()
    const receipt = await receiptOf(stack.baseUrl, account.apiKey, requestId)
    assert.deepEqual([receipt.status, receipt.cost.units], ['failed', '0'])
  })
}

test('a clip that the provider does not deliver stays fetchable, and one that the provider dropped is removed', async () => {
  for (const [name, status, code] of [
    ['clip-500', 502, 'upstream_unavailable'],
    ['clip-302', 502, 'upstream_unavailable'],
    ['clip-404', 410, 'video_expired'],
  ] as const) {
    const { id } = await newVideo(stack.baseUrl, account.apiKey, { model: `test/${name}` })
    await videoIn(stack.baseUrl, account.apiKey, id, ['completed'])
    assertError(await contentReply(stack.baseUrl, account.apiKey, id), status, code)
    assert.equal((await videoReply(stack.baseUrl, account.apiKey, id)).status, 200)
  }
})

test('a clip interrupted at the provider is also interrupted for the client', async () => {
  const { id } = await newVideo(stack.baseUrl, account.apiKey, { model: 'test/clip-cut' })
  await videoIn(stack.baseUrl, account.apiKey, id, ['completed'])
  await assert.rejects(contentReply(stack.baseUrl, account.apiKey, id))
})

test('a client that disconnects before it has the id is charged for the clip, and finds it by its receipt', async () => {
  const client = await stack.createAccount({ credits: '10' })
  const controller = new AbortController()
  await stack.provider.hold()
  const sent = fetch(`${stack.baseUrl}/v1/videos/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/hesitates', prompt: 'x' }),
    signal: controller.signal,
  }).catch(() => undefined)
  await stack.provider.leaveHeld({ destroy: () => controller.abort() })
  await sent
  await stack.settled()
  const response = await fetch(`${stack.baseUrl}/v1/receipts`, {
    headers: { authorization: `Bearer ${client.apiKey}` },
  })
  const { data } = (await response.json()) as { data: { request_id: string; status: string }[] }
  assert.deepEqual(
    data.map((receipt) => receipt.status),
    ['ok'],
  )
  const videoId = `video_${itemOf(data, 0).request_id.slice(4)}`
  assert.equal(
    (await videoIn(stack.baseUrl, client.apiKey, videoId, ['completed'])).request_id,
    itemOf(data, 0).request_id,
  )
})
