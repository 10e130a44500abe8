// Goal: a tool call whose process is stopped or killed ends once and costs nothing, whatever its upstream still does.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertError, type Reply, receiptOf } from '../support/clients/chatClient.ts'
import { answered } from '../support/clients/mediaClient.ts'
import { callTool, SEARCH, searchTool } from '../support/clients/toolClient.ts'
import { present } from '../support/present.ts'
import { type Stack, startStack, type TestAccount, until } from '../support/stack.ts'
import { childrenOf } from '../support/workload.ts'

const CALLS = 8
const LIMITS = { heartbeatIntervalMs: 200, heartbeatTimeoutMs: 4_000, orphanCheckMs: 200, drainGraceMs: 200 }

let stack: Stack
let account: TestAccount

before(async () => {
  const tools = [
    searchTool('t.slow', 'mock,slow_headers=2500', { data_policy: 'none' }),
    searchTool('t.quick', 'mock', { data_policy: 'none' }),
  ]
  stack = await startStack({ catalog: { tools }, limits: LIMITS })
  account = await stack.createAccount({ credits: '1' })
})
after(() => stack.stop())

/** Calls that their upstream has been asked for. */
async function underWay(): Promise<Promise<Reply | undefined>[]> {
  const input = { query: 'q' }
  const calls = Array.from({ length: CALLS }, () =>
    callTool(stack.baseUrl, account.apiKey, 't.slow', input).catch(() => undefined),
  )
  await until('all are held', async () => {
    const metrics = await (await fetch(stack.metricsUrl)).text()
    return /^sluice_active_runs (\d+)$/m.exec(metrics)?.[1] === String(CALLS)
  })
  return calls
}

/** Everything is there again, and one call costs what it always did. */
async function goesOn(): Promise<void> {
  await stack.settled()
  await stack.audit()
  const { receipt } = answered(await callTool(stack.baseUrl, account.apiKey, 't.quick', { query: 'q' }))
  assert.equal(receipt.cost.units, String(SEARCH.price.call + 3 * SEARCH.price.result))
}

test('a worker is killed: its calls are interrupted and their holds are released', async () => {
  const calls = await underWay()
  const pid = stack.proxy.pid
  assert.ok(pid !== undefined)
  const [worker] = childrenOf(pid)
  process.kill(present(worker), 'SIGKILL')
  assert.deepEqual(
    await Promise.all(calls),
    Array.from({ length: CALLS }, () => undefined),
  )
  await until('a new worker runs', () => childrenOf(pid).some((child) => child !== worker))
  await stack.ready()
  await goesOn()
})

test('the proxy is stopped: calls that take too long are rejected, and not charged', async () => {
  const calls = await underWay()
  const stopped = stack.proxy.stop()
  const ids: string[] = []
  for (const reply of await Promise.all(calls)) {
    assert.ok(reply !== undefined)
    assertError(reply, 503, 'gateway_restarting')
    ids.push(reply.headers.get('x-request-id') ?? '')
  }
  await stopped
  await stack.proxy.start()
  await stack.ready()
  await goesOn()
  for (const id of ids) {
    const { status, cost } = await receiptOf(stack.baseUrl, account.apiKey, id)
    assert.deepEqual([status, cost.units], ['cut', '0'])
  }
})

test('control is killed meanwhile: calls end, and are booked when it is back', async () => {
  await callTool(stack.baseUrl, account.apiKey, 't.quick', { query: 'q' })
  const calls = await underWay()
  await stack.control.kill9()
  const replies = await Promise.all(calls)
  for (const reply of replies) assert.ok(reply !== undefined && reply.status === 200, reply?.text)
  await stack.control.start()
  await goesOn()
})
