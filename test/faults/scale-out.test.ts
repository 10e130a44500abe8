import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { chat, completion, type Receipt } from '../support/clients/chatClient.ts'
import { itemOf } from '../support/present.ts'
import { assertReconciled } from '../support/reconcile.ts'
import { type Stack, startStack, type TestAccount, until, untilSame } from '../support/stack.ts'

const WORKERS = 3
const CONNECTIONS = 1_200
const AT_ONCE = 24
/**
 * The kernel spreads connections by a hash of their addresses, so a worker's share is binomial: 1,200 in three parts is
 * 400 each with a standard deviation of 16.3. Six of them are passed once in five hundred million runs.
 */
const SHARE_LEAST = 302
const SHARE_MOST = 498

let stack: Stack
let account: TestAccount

before(async () => {
  stack = await startStack({
    workers: WORKERS,
    limits: { heartbeatIntervalMs: 200, heartbeatTimeoutMs: 4_000, orphanCheckMs: 200 },
    catalog: { models: [{ id: 'test/small', upstream: 'mock,chunks=2' }] },
  })
  account = await stack.createAccount({ credits: '100' })
})

after(() => stack.finish())

/** Sends one request on a connection of its own and resolves with the receipt of its answer. */
function requestOnce(): Promise<Receipt> {
  const body = JSON.stringify({ model: 'test/small', messages: [{ role: 'user', content: 'hello' }] })
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: gateway',
    `Authorization: Bearer ${account.apiKey}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(new URL(stack.baseUrl).port), '127.0.0.1')
    socket.setEncoding('utf8')
    socket.on('connect', () => socket.write(`${head.join('\r\n')}\r\n\r\n${body}`))
    socket.on('error', reject)
    socket.on('data', (part: string) => {
      text += part
    })
    socket.on('close', () => {
      const json = text.slice(text.indexOf('\r\n\r\n') + 4)
      try {
        assert.match(text, /^HTTP\/1\.1 200 /)
        resolve((JSON.parse(json) as { receipt: Receipt }).receipt)
      } catch (error) {
        reject(error)
      }
    })
  })
}

/** `count` requests on as many connections, some of them at once. */
async function requestMany(count: number): Promise<Receipt[]> {
  const receipts: Receipt[] = []
  let left = count
  const client = async (): Promise<void> => {
    while (left > 0) {
      left--
      receipts.push(await requestOnce())
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, client))
  return receipts
}

/** Requests by worker, as the metrics of the proxy tell them. */
async function requestsByWorker(): Promise<number[]> {
  const text = await (await fetch(stack.metricsUrl)).text()
  return Array.from({ length: WORKERS }, (_, worker) => {
    const found = new RegExp(`^sluice_worker_requests_total\\{worker="${worker}"\\} (\\d+)$`, 'm').exec(text)
    assert.ok(found !== null, `no requests of worker ${worker} in the metrics`)
    return Number(found[1])
  })
}

/** Sends requests on fresh connections and asserts that every worker got its share of them. */
async function assertEvenSpread(): Promise<void> {
  const before = await untilSame('the requests are known', requestsByWorker)
  const receipts = await requestMany(CONNECTIONS)
  assert.equal(new Set(receipts.map((receipt) => receipt.request_id)).size, CONNECTIONS)
  const now = await untilSame('the requests are known', requestsByWorker)
  const shares = now.map((requests, worker) => requests - itemOf(before, worker))
  assert.equal(
    shares.reduce((sum, share) => sum + share, 0),
    CONNECTIONS,
  )
  for (const share of shares) assert.ok(share >= SHARE_LEAST && share <= SHARE_MOST, `shares: ${shares.join(', ')}`)
  const log = await stack.provider.log()
  for (const receipt of receipts.slice(0, 50)) assertReconciled(receipt, log)
}

test('connections spread evenly over the workers on one port', () => assertEvenSpread())

test('a killed worker is replaced under load, the others continue, and its replacement gets its share', async () => {
  const workers = stack.workerPids
  assert.equal(workers.length, WORKERS)
  let stopped = false
  const outcomes = { answered: 0, broken: 0, afterKill: 0 }
  let killed = false
  const client = async (): Promise<void> => {
    while (!stopped) {
      try {
        completion(await chat(stack.baseUrl, account.apiKey, { model: 'test/small' }))
        outcomes.answered++
        if (killed) outcomes.afterKill++
      } catch (error) {
        // An answer that was not a success is a fault of the workers that live; a broken connection is the dead one's.
        if (error instanceof assert.AssertionError) throw error
        outcomes.broken++
      }
    }
  }
  const clients = Array.from({ length: AT_ONCE }, client)
  const running = Promise.all(clients)
  await until('the load runs', () => outcomes.answered > 100)
  process.kill(itemOf(workers, 0), 'SIGKILL')
  killed = true
  const replaced = until('the worker is replaced', async () => {
    const now = stack.workerPids
    const text = await (await fetch(stack.metricsUrl)).text()
    return now.length === WORKERS && !now.includes(itemOf(workers, 0)) && /^sluice_workers 3$/m.test(text)
  })
  await Promise.race([running, replaced])
  await until('the others have served on', () => outcomes.afterKill > 300)
  stopped = true
  await running
  for (const survivor of workers.slice(1)) assert.ok(stack.workerPids.includes(survivor))
  assert.ok(outcomes.broken <= AT_ONCE, `${outcomes.broken} connections broke, of ${AT_ONCE} clients`)
  // The holds of the dead worker are voided, so that nothing is held and everything is booked.
  await stack.settled()
  await stack.audit()
  await assertEvenSpread()
})
