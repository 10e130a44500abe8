// Goal: what a client was told is in the book, and what nobody was told costs nothing, whichever process ends. Method:
// processes are stopped or killed at chosen moments of the life of a request on a lease.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { chat, completion, type Receipt } from '../support/clients/chatClient.ts'
import { itemOf, present } from '../support/present.ts'
import { type Stack, startStack, type TestAccount, until } from '../support/stack.ts'
import { assertWorkload, childrenOf, startWorkload } from '../support/workload.ts'

const CATALOG = {
  models: [
    { id: 'test/small', upstream: 'mock,chunks=2' },
    { id: 'test/held', upstream: 'mock,chunks=20,delay=20' },
  ],
}
/** Far above what the test waits: only the supervisor can be the one that gives units back in time. */
const NEVER_MS = 600_000
const OUTAGE_MS = 1_000

/** Lets Redis stand still during `work`. */
async function withoutRedis(work: () => Promise<void>): Promise<void> {
  const pid = present(stack.redis.pid())
  process.kill(pid, 'SIGSTOP')
  try {
    await work()
  } finally {
    process.kill(pid, 'SIGCONT')
  }
}

let stack: Stack
let account: TestAccount

before(async () => {
  stack = await startStack({ catalog: CATALOG, limits: { heartbeatTimeoutMs: NEVER_MS } })
  account = await stack.createAccount({ credits: '5', coin: '5' })
})
after(() => stack.finish())

async function bookedReceipt(requestId: string): Promise<Receipt> {
  const url = `${stack.baseUrl}/v1/receipts/${requestId}`
  const response = await fetch(url, { headers: { authorization: `Bearer ${account.apiKey}` } })
  assert.equal(response.status, 200, requestId)
  return (await response.json()) as Receipt
}

async function ask(): Promise<Receipt> {
  const { receipt } = completion(await chat(stack.baseUrl, account.apiKey, { model: 'test/small', max_tokens: 5 }))
  return present(receipt)
}

test('a receipt can be read as soon as the response has shown it', async () => {
  for (let i = 0; i < 20; i++) {
    const shown = await ask()
    assert.deepEqual((await bookedReceipt(shown.request_id)).cost, shown.cost)
  }
})

test('a worker killed in the middle of a stream leaves an orphaned receipt, and its hold is released', async () => {
  await stack.provider.hold()
  const call = chat(stack.baseUrl, account.apiKey, { model: 'test/held', stream: true, max_tokens: 50 })
  call.catch(() => undefined)
  await until('the provider works on it', async () => (await stack.provider.open()) > 0)
  process.kill(itemOf(stack.workerPids, 0), 'SIGKILL')
  await stack.provider.release()
  await stack.settled()
  await stack.ready()
  const response = await fetch(`${stack.baseUrl}/v1/receipts?limit=1`, {
    headers: { authorization: `Bearer ${account.apiKey}` },
  })
  const [last] = ((await response.json()) as { data: Receipt[] }).data
  assert.deepEqual([last?.status, last?.cost.units], ['orphaned', '0'])
})

test('while Redis is unresponsive for a second, a key with steady use gets no error', async () => {
  const workload = startWorkload(stack, account, ['test/small'], 8)
  await until('answers come', () => workload.answered() >= 200)
  const before = workload.answered()
  let during = 0
  await withoutRedis(async () => {
    await sleep(OUTAGE_MS)
    during = workload.answered() - before
  })
  const result = await workload.stop()
  assert.ok(during > 0, 'nobody was served meanwhile')
  assert.deepEqual([[...result.refused], result.broken], [[], 0])
  await stack.settled()
  await assertWorkload(stack, result, 200)
})

test('receipts shown while Redis was unresponsive are booked, although their worker is killed', async () => {
  const workload = startWorkload(stack, account, ['test/small'], 8)
  await until('answers come', () => workload.answered() >= 200)
  await withoutRedis(async () => {
    const before = workload.answered()
    await until('receipts are shown', () => workload.answered() >= before + 5)
    const proxyPid = present(stack.proxy.pid)
    for (const worker of childrenOf(proxyPid)) process.kill(worker, 'SIGKILL')
    await stack.proxy.kill9()
  })
  await stack.proxy.start()
  await stack.ready()
  const result = await workload.stop()
  await stack.settled()
  await stack.audit()
  await assertWorkload(stack, result, 205)
})
