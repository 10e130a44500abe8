// Goal: a cluster that loses masters while clients keep asking charges every answer once. Method: three masters with a replica
// each; masters are killed in turn, come back as replicas, and slots move in between.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { accountKey, shardOf } from '../../contract/wire/redisKeys.ts'
import { itemOf } from '../support/present.ts'
import { startTestCluster, type TestCluster } from '../support/redis/redisCluster.ts'
import { type Stack, startStack, type TestAccount, until } from '../support/stack.ts'
import { assertWorkload, describe, startWorkload, type Workload } from '../support/workload.ts'

const ROUNDS = 6
const ACCOUNTS = 4

let cluster: TestCluster
let stack: Stack
let accounts: TestAccount[]

before(async () => {
  cluster = await startTestCluster()
  stack = await startStack({
    redis: cluster,
    catalog: { models: [{ id: 'test/paced', upstream: 'mock,chunks=10,delay=10' }] },
    limits: { redisTimeoutMs: 1_000, heartbeatIntervalMs: 500, breakerFailures: 1_000_000 },
  })
  accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => stack.createAccount({ coin: '50' })))
})
after(() => stack.finish())

test('masters are killed and slots move under load; every response is booked once', async () => {
  const workloads = accounts.map((account) => startWorkload(stack, account, ['test/paced'], 3))
  for (let round = 0; round < ROUNDS; round++) {
    await answersCome(workloads)
    const { accountId } = itemOf(accounts, round % ACCOUNTS)
    const slot = await cluster.slotOf(accountKey(shardOf(accountId), accountId))
    const master = await cluster.ownerOf(slot)
    await cluster.failOver(master)
    await answersCome(workloads)
    await cluster.bringBack(master)
    const masters = await cluster.masters()
    await cluster.moveSlot(slot, itemOf(masters, round % masters.length))
  }
  await answersCome(workloads)
  const results = await Promise.all(workloads.map((workload) => workload.stop()))
  for (const result of results) process.stdout.write(`# ${describe(result)}\n`)
  await stack.settled()
  for (const result of results) await assertWorkload(stack, result, 10)
  for (const [i, { apiKey }] of accounts.entries()) await assertBooked(apiKey, itemOf(results, i).answered)
})

async function answersCome(workloads: readonly Workload[]): Promise<void> {
  for (const workload of workloads) {
    const seen = workload.answered()
    await until('answers come', () => workload.answered() >= seen + 3, 60_000)
  }
}

/** Whoever was shown a receipt finds it in the book with the same charge. */
async function assertBooked(apiKey: string, answered: readonly { request_id: string; cost: { units: string } }[]) {
  for (const { request_id, cost } of answered) {
    const response = await fetch(`${stack.baseUrl}/v1/receipts/${request_id}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    })
    assert.equal(response.status, 200, `${request_id} has no receipt`)
    const receipt = (await response.json()) as { cost: { units: string } }
    assert.equal(receipt.cost.units, cost.units)
  }
}
