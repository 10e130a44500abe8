import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { assertError, chat, completion, type Reply } from '../../support/clients/chatClient.ts'
import { limits } from '../../support/limits.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const M = 'test/small'
/** Almost a minute: the time of a line is that of the wall. */
const REPEATED_MS_MIN = 55_000

interface Health {
  readonly status: string
  readonly control: string
  readonly database: string
  readonly ledger: string
  readonly chain: string
  readonly upstreams: { models: number; serving: number }
  readonly withdrawals: string
  readonly payments: string
}

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    limits: {
      pulseIntervalMs: 200,
      rpcTimeoutMs: 8_000,
      breakerFailures: 1,
      breakerOpenMs: 12_000,
      bodyBytesMax: 100_000,
      statusWriteMs: 200,
      statusCheckMs: 200,
      // Redis is away for as long as its restart takes.
      statusStateMinMs: 1,
    },
    catalog: { models: [{ id: M }, { id: 'test/flaky', upstream: 'mock,fail_first=4' }] },
  })
  apiKey = (await stack.createAccount()).apiKey
})

after(() => stack.finish())

async function get(path: string): Promise<Reply> {
  const response = await fetch(stack.baseUrl + path)
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function health(): Promise<Health> {
  const reply = await get('/health')
  assert.equal(reply.status, 200)
  return JSON.parse(reply.text) as Health
}

const WELL: Health = {
  status: 'ok',
  control: 'ok',
  database: 'ok',
  ledger: 'ok',
  chain: 'not_configured',
  upstreams: { models: 2, serving: 2 },
  withdrawals: 'not_configured',
  payments: 'not_configured',
}

/** Waits for a state of health; the last one that was seen is the reason when it does not come. */
async function becomes(expected: Health): Promise<void> {
  let seen: Health | undefined
  await until('health changes', async () => {
    seen = await health()
    return JSON.stringify(seen) === JSON.stringify(expected)
  }).catch(() => assert.deepEqual(seen, expected))
}

/** That a process logs an error of one of these events once in a minute, however often it meets it. */
function assertNotRepeated(logs: string, ...events: readonly string[]): void {
  const toldMs = new Map<string, number>()
  for (const line of logs.split('\n').filter((one) => one.includes('"err":') && one.startsWith('{'))) {
    const { event, owner, pid, task, operation, err, time } = JSON.parse(line)
    if (!events.includes(event)) continue
    const name = [event, owner, pid, task, operation, err.message].join()
    assert.ok(time - (toldMs.get(name) ?? 0) >= REPEATED_MS_MIN, line)
    toldMs.set(name, time)
  }
  assert.ok(toldMs.size > 0)
}

test('a healthy gateway reports that it is healthy and ready', async () => {
  await becomes(WELL)
  const ready = await get('/ready')
  assert.deepEqual([ready.status, JSON.parse(ready.text)], [200, { ready: true, reasons: [] }])
})

test('the limits in force are published', async () => {
  const reply = await get('/v1/limits')
  assert.equal(reply.status, 200)
  const shown = JSON.parse(reply.text) as {
    object: string
    rate_limits: { requests: number; period_seconds: number; burst: number }[]
    request: {
      body_bytes: number
      images: number
      messages: number
      n: number
      temperature: object
      without_key: object
    }
  }
  assert.equal(shown.object, 'limits')
  const [rate] = shown.rate_limits
  assert.deepEqual(
    [rate?.requests, rate?.period_seconds, rate?.burst],
    [limits.requestsPerMinute, 60, limits.requestBurst],
  )
  assert.deepEqual([shown.request.body_bytes, shown.request.images, shown.request.n], [100_000, 16, 1])
  assert.deepEqual(shown.request.temperature, { min: 0, max: 2 })
  assert.deepEqual(shown.request.without_key, {
    body_bytes: 100_000,
    upload_bytes: 100_000,
    json_members: limits.strangerJsonMembersMax,
    json_elements: limits.strangerJsonElementsMax,
  })
  const tooLong = await chat(stack.baseUrl, apiKey, {
    model: M,
    messages: [{ role: 'user', content: 'x'.repeat(100_000) }],
  })
  assert.equal(tooLong.status, 413)
})

test('a model whose only route fails is not listed until it serves again', async () => {
  const listed = async () => (await get('/v1/models')).text.includes('test/flaky')
  const available = async () => {
    const sheet = JSON.parse((await get('/v1/pricing')).text) as { models: { id: string; available: boolean }[] }
    return sheet.models.find(({ id }) => id === 'test/flaky')?.available
  }
  assert.deepEqual([await listed(), await available()], [true, true])
  // One account alone has to fail four times as often before its failures are taken for the route's.
  for (let i = 0; i < 4; i++) {
    assert.equal(await listed(), true)
    assertError(await chat(stack.baseUrl, apiKey, { model: 'test/flaky' }), 502, 'upstream_unavailable')
  }
  assert.deepEqual([await listed(), await available()], [false, false])
  assert.deepEqual((await health()).upstreams, { models: 2, serving: 1 })
  const refused = await chat(stack.baseUrl, apiKey, { model: 'test/flaky' })
  assertError(refused, 503, 'model_unavailable')
  assert.ok(Number(refused.headers.get('retry-after')) >= 1)
  await until('the breaker lets one try', listed)
  completion(await chat(stack.baseUrl, apiKey, { model: 'test/flaky' }))
  await becomes(WELL)
})

test('without control requests are served, and routes that need the book return 503', async () => {
  completion(await chat(stack.baseUrl, apiKey, { model: M }))
  await stack.control.kill9()
  await becomes({ ...WELL, status: 'degraded', control: 'unavailable', database: 'unknown' })
  assert.equal((await get('/ready')).status, 200)
  const { receipt } = completion(await chat(stack.baseUrl, apiKey, { model: M }))
  const sheets = await get('/v1/pricing/sheets')
  assertError(sheets, 503, 'admission_unavailable')
  assert.ok(Number(sheets.headers.get('retry-after')) >= 1)
  assert.equal((await get('/v1/pricing')).status, 200)
  assertError(await chat(stack.baseUrl, `sk_${'1'.repeat(43)}`, { model: M }), 503, 'policy_unavailable')
  await stack.control.start()
  await becomes(WELL)
  await stack.settled()
  const booked = await get(`/x402/v1/receipts/${receipt.request_id}`)
  assert.equal(booked.status, 200, booked.text)
})

test('without Redis no request is served, and service recovers when it is back', async () => {
  await stack.redis.kill9()
  await becomes({ ...WELL, status: 'degraded', control: 'unavailable', database: 'unknown', ledger: 'unavailable' })
  const ready = await get('/ready')
  assert.equal(ready.status, 503)
  assert.deepEqual((JSON.parse(ready.text) as { reasons: string[] }).reasons, ['redis'])
  const before = (await stack.provider.log()).length
  const refused = await chat(stack.baseUrl, apiKey, { model: M })
  assertError(refused, 503, 'admission_unavailable')
  assert.ok(Number(refused.headers.get('retry-after')) >= 1)
  assert.equal((await stack.provider.log()).length, before)
  await stack.redis.restart()
  await stack.ready()
  await becomes(WELL)
  await until('requests are served', async () => (await chat(stack.baseUrl, apiKey, { model: M })).status === 200)
})

test('a Redis that refuses writes is named by /ready and /health, as one that is away', async () => {
  await stack.withAnyRedis((redis) => redis.config('SET', 'maxmemory', '1'))
  const reasons = async () => (JSON.parse((await get('/ready')).text) as { reasons: string[] }).reasons.join()
  await until('it is not ready', async () => (await reasons()) === 'redis')
  assert.equal((await health()).ledger, 'unavailable')
  await until('what was leased is spent', async () => {
    const reply = await chat(stack.baseUrl, apiKey, { model: M })
    if (reply.status !== 200) assertError(reply, 503, 'admission_unavailable')
    return reply.status !== 200
  })
  await stack.withAnyRedis((redis) => redis.config('SET', 'maxmemory', '0'))
  await becomes(WELL)
  assert.equal((await get('/ready')).status, 200)
  await until('requests are served', async () => (await chat(stack.baseUrl, apiKey, { model: M })).status === 200)
  assertNotRepeated(stack.logs(), 'lease_failed', 'refusal_records_failed', 'loop_failed', 'answer_cache_failed')
})

test('the history of the day records these outages, starting with the start of the gateway', async () => {
  type History = {
    readonly days: { date: string; status: string; incidents: string[] }[]
    readonly incidents: unknown[]
  }
  let history: History | undefined
  await until('the day is told of', async () => {
    history = JSON.parse((await get('/v1/status/history')).text) as History
    return history.days.some(({ status }) => status === 'major_outage')
  })
  assert.deepEqual(history?.incidents, [], 'nobody has said anything')
  assert.ok((history?.days.length ?? 0) <= 2)
  // The time since the gateway recovered is told with its next pulses.
  await until('both states are recorded', async () => {
    const { rows } = await withPool((pool) =>
      pool.query<{ state: string }>('SELECT DISTINCT state FROM observed_days WHERE ms > 0'),
    )
    const seen = rows.map(({ state }) => state)
    return seen.includes('operational') && seen.includes('major_outage')
  })
})

async function withPool<T>(work: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = createPool(stack.databaseUrl, limits)
  return work(pool).finally(() => pool.end())
}
