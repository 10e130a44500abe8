import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertError,
  chat,
  chatStream,
  completion,
  type ErrorBody,
  type Receipt,
  streamedText,
} from '../../support/clients/chatClient.ts'
import { assertReconciled } from '../../support/reconcile.ts'
import { type Stack, type StackOptions, startStack, type TestAccount, until } from '../../support/stack.ts'

const STREAMS = 12
const SETTLE_MS = 20_000
/** By themselves the streams of `test/endless` end after four times as long. */
const CUT_WITHIN_MS = 50_000
const CATALOG = {
  models: [
    { id: 'test/small' },
    { id: 'test/slow', upstream: 'mock,chunks=60,delay=25' },
    { id: 'test/endless', upstream: 'mock,chunks=8000,delay=25' },
    {
      id: 'test/flood',
      upstream: 'mock,chunks=200000',
      context: 400_000,
      max_output: 200_000,
      default_output: 200_000,
    },
    { id: 'test/silent', upstream: 'mock,slow_headers=60000' },
  ],
}

async function withStack(
  options: StackOptions,
  work: (stack: Stack, account: TestAccount) => Promise<void>,
): Promise<void> {
  // What a worker has not delivered when it ends waits for the next one, and here is none.
  const limits = { settleTimeoutMs: SETTLE_MS, ...options.limits }
  const stack = await startStack({ catalog: CATALOG, ...options, limits })
  try {
    await work(stack, await stack.createAccount())
  } finally {
    await stack.finish()
  }
}

/** Waits until the provider works on so many requests. */
function atProvider(stack: Stack, count: number): Promise<void> {
  return until(`${count} requests are at the provider`, async () => (await stack.provider.open()) === count)
}

/** Waits until the proxy says that it is leaving. */
function draining(stack: Stack): Promise<void> {
  return until('the proxy drains', async () => {
    // A process that has nothing to end leaves at once, with the connections that it had.
    const health = await fetch(`${stack.baseUrl}/health`).catch(() => undefined)
    return ((await health?.json()) as { status: string } | undefined)?.status === 'draining'
  })
}

async function booked(stack: Stack, apiKey: string): Promise<Receipt[]> {
  await stack.settled()
  const response = await fetch(`${stack.baseUrl}/v1/receipts?limit=100`, {
    headers: { authorization: `Bearer ${apiKey}` },
  })
  return ((await response.json()) as { data: Receipt[] }).data
}

async function balance(stack: Stack, accountId: string): Promise<string> {
  const { json } = await stack.cli('account', 'show', accountId)
  return (json as { balance: { credits: string } }).balance.credits
}

for (const workers of [1, 2]) {
  test(`SIGTERM: running streams may end, new requests are rejected, workers: ${workers}`, async () => {
    await withStack({ workers, limits: { drainGraceMs: 60_000 } }, async (stack, { apiKey }) => {
      await stack.provider.hold()
      const streams = Array.from({ length: STREAMS }, () => chatStream(stack.baseUrl, apiKey, { model: 'test/slow' }))
      const whole = chat(stack.baseUrl, apiKey, { model: 'test/slow' })
      await atProvider(stack, STREAMS + 1)
      const { pid } = stack.proxy
      const ended = stack.proxy.sigterm()
      await draining(stack)
      // A worker that is asked says nothing of the others.
      await until('every worker drains', () => stack.logs().split('worker_draining').length > workers)
      assert.ok(pid !== undefined)
      // A signal counts once, however often and in whichever kind it comes.
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.kill(pid, signal)
      for (const stream of [true, false]) {
        const refused = await chat(stack.baseUrl, apiKey, { model: 'test/small', stream })
        assertError(refused, 503, 'gateway_restarting')
        assert.ok(Number(refused.headers.get('retry-after')) >= 1)
        assert.equal(refused.headers.get('x-should-retry'), 'true')
      }
      assert.equal((await fetch(`${stack.baseUrl}/ready`)).status, 503)
      assert.equal((await fetch(`${stack.baseUrl}/v1/models`)).status, 503)

      await stack.provider.release()
      const replies = await Promise.all(streams)
      const log = await stack.provider.log()
      for (const reply of replies) {
        assert.ok(reply.done)
        assert.match(streamedText(reply), /tok59$/)
        assert.equal(reply.receipt?.status, 'ok')
        assertReconciled(reply.receipt, log)
      }
      assertReconciled(completion(await whole).receipt, await stack.provider.log())
      assert.equal(await ended, 0)
      await assert.rejects(fetch(`${stack.baseUrl}/health`))
    })
  })
}

test('SIGTERM: for the notice everything is served, while /ready is 503 and every answer ends its connection', async () => {
  await withStack({ limits: { leaveNoticeMs: 60_000 } }, async (stack, { apiKey }) => {
    const ended = stack.proxy.sigterm()
    await draining(stack)
    const ready = await fetch(`${stack.baseUrl}/ready`)
    assert.deepEqual([ready.status, ready.headers.get('connection')], [503, 'close'])
    assert.deepEqual(await ready.json(), { ready: false, reasons: ['draining'] })
    const whole = await chat(stack.baseUrl, apiKey, { model: 'test/small' })
    completion(whole)
    assert.equal(whole.headers.get('connection'), 'close')
    const stream = await chatStream(stack.baseUrl, apiKey, { model: 'test/slow' })
    assert.match(streamedText(stream), /tok59$/)
    assert.equal(stream.receipt?.status, 'ok')
    // Sooner than the notice ends.
    await stack.proxy.kill9()
    await ended
    await stack.proxy.start()
    await stack.ready()
    await stack.settled()
    // Its notice is longer than a test should wait for.
    await stack.proxy.kill9()
  })
})

test('SIGTERM: requests that outlast the grace period are cut and not charged', async () => {
  await withStack({ workers: 2, limits: { drainGraceMs: 500 } }, async (stack, { accountId, apiKey }) => {
    const start = await balance(stack, accountId)
    const streams = Array.from({ length: STREAMS }, () => chatStream(stack.baseUrl, apiKey, { model: 'test/endless' }))
    const notBegun = ['test/silent', 'test/endless'].map((model) => chat(stack.baseUrl, apiKey, { model }))
    const silentStream = chat(stack.baseUrl, apiKey, { model: 'test/silent', stream: true })
    await atProvider(stack, STREAMS + 3)
    await until('each of the streams has begun', async () => {
      const metrics = await (await fetch(stack.metricsUrl)).text()
      return Number(/^sluice_streams_total (\d+)/m.exec(metrics)?.[1] ?? 0) === STREAMS
    })
    const startedMs = performance.now()
    assert.equal(await stack.proxy.sigterm(), 0)
    assert.ok(performance.now() - startedMs < CUT_WITHIN_MS, 'the proxy waited for longer than it was to')

    for (const reply of await Promise.all(streams)) {
      assert.equal(reply.status, 200)
      assert.match(streamedText(reply), /^ tok0 tok1/)
      const { error } = reply.events.at(-1) as unknown as ErrorBody
      assert.equal(error.code, 'stream_cut')
      assert.equal(reply.receipt?.status, 'cut')
      assert.deepEqual([reply.receipt.cost.units, reply.receipt.error], ['0', 'stream_cut'])
      assert.ok(reply.done)
    }
    for (const reply of await Promise.all([...notBegun, silentStream])) assertError(reply, 503, 'gateway_restarting')

    await stack.settled()
    assert.equal(await balance(stack, accountId), start)
    // The provider was told to stop.
    await atProvider(stack, 0)
    await stack.proxy.start()
    await stack.ready()
    const receipts = await booked(stack, apiKey)
    assert.equal(receipts.length, STREAMS + 3)
    for (const receipt of receipts) assert.deepEqual([receipt.status, receipt.cost.units], ['cut', '0'])
    completion(await chat(stack.baseUrl, apiKey, { model: 'test/small' }))
  })
})

test('SIGTERM: a client that does not read its stream does not delay the shutdown', async () => {
  await withStack({ limits: { drainGraceMs: 200, shutdownTimeoutMs: 4_000 } }, async (stack, { apiKey }) => {
    const controller = new AbortController()
    const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'test/flood', stream: true, messages: [{ role: 'user', content: 'x' }] }),
      signal: controller.signal,
    })
    assert.equal(response.status, 200)
    // Every buffer on the way is full.
    await stack.provider.untilStalled(1)
    assert.equal(await stack.proxy.sigterm(), 0)
    controller.abort()
  })
})

test('a worker whose main process was killed ends in order', async () => {
  await withStack({}, async (stack, { accountId, apiKey }) => {
    completion(await chat(stack.baseUrl, apiKey, { model: 'test/small' }))
    await stack.proxy.kill9()
    await until('the worker has ended in order', () => /"event":"worker_stopped"/.test(stack.logs()))
    await stack.settled()
    assert.notEqual(await balance(stack, accountId), '10')
  })
})
