// Goal: a cluster of several nodes serves like one server. Method: a whole stack on three masters, whose accounts lie on all
// of them; slots move while requests run.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../contract/wire/ids.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { accountKey, shardOf } from '../../contract/wire/redisKeys.ts'
import { scanKeys } from '../../contract/wire/redisShards.ts'
import { api, assertRefused } from '../support/clients/apiClient.ts'
import { chat, chatStream, completion } from '../support/clients/chatClient.ts'
import { clipOf, generate, newVideo, releaseVideos, videoIn, videoModel } from '../support/clients/videoClient.ts'
import { startTestCluster, type TestCluster } from '../support/redis/redisCluster.ts'
import { type Stack, startStack, type TestAccount, until } from '../support/stack.ts'
import { assertWorkload, startWorkload, type Workload } from '../support/workload.ts'

const ACCOUNTS = 6
const START_UNITS = 1_000_000_000

let cluster: TestCluster
let stack: Stack

before(async () => {
  cluster = await startTestCluster({ replicas: 0 })
  const models = [{ id: 'test/small' }, videoModel('test/clip', 'mock,video=held')]
  stack = await startStack({
    redis: cluster,
    workers: 2,
    catalog: { models },
    // Longer than a test may take, so that a receipt which no proxy denies is waited for in vain.
    limits: { videoPollMinMs: 50, leaseRestMs: 300, receiptAskMs: 3_600_000 },
  })
})
after(() => stack.finish())

const newAccount = (): Promise<TestAccount> => stack.createAccount({ credits: '1' })

function freeUnits(accountId: string): Promise<number> {
  return stack.withAnyRedis(async (redis) => {
    const grants = (await redis.hget(accountKey(shardOf(accountId), accountId), 'g')) ?? ''
    return grants.split(';').reduce((sum, grant) => sum + Number(grant.split(',')[2] ?? 0), 0)
  })
}

/** What is leased comes back when it is idle. */
async function untilFree(accountId: string, units: number): Promise<void> {
  await until(`${accountId} has ${units} free`, async () => (await freeUnits(accountId)) === units)
}

test('in a cluster, concurrent holds and settlements of many accounts stay within their slots', async () => {
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, newAccount))
  const shards = new Set(accounts.map(({ accountId }) => shardOf(accountId)))
  assert.ok(shards.size > 1)
  const charged = new Map<string, number>(accounts.map(({ accountId }) => [accountId, 0]))
  const calls = accounts.flatMap(({ accountId, apiKey }) =>
    Array.from({ length: 20 }, async (_, i) => {
      const body = { model: 'test/small', max_tokens: 1 + i }
      const receipt =
        i % 2 === 0
          ? completion(await chat(stack.baseUrl, apiKey, body)).receipt
          : (await chatStream(stack.baseUrl, apiKey, body)).receipt
      assert.equal(receipt?.status, 'ok')
      charged.set(accountId, (charged.get(accountId) ?? 0) + Number(receipt.cost.units))
    }),
  )
  await Promise.all(calls)
  for (const [accountId, units] of charged) await untilFree(accountId, START_UNITS - units)
})

test('in a cluster, a receipt that does not exist is not found as soon as all processes have denied it', async () => {
  const { apiKey } = await newAccount()
  for (let i = 0; i < ACCOUNTS; i++) {
    const answer = await api(stack.baseUrl, 'GET', `/v1/receipts/${newId('req')}`, { token: apiKey })
    assertRefused(answer, 404, 'receipt_not_found')
  }
})

test('in a cluster, video jobs stay within the slots of their accounts', async () => {
  const accounts = await Promise.all([newAccount(), newAccount(), newAccount()])
  for (const { apiKey, accountId } of accounts) {
    const before = await freeUnits(accountId)
    const jobs = [1, 2].map(() => newVideo(stack.baseUrl, apiKey, { model: 'test/clip' }))
    const ids = (await Promise.all(jobs)).map((job) => job.id)
    assert.equal((await generate(stack.baseUrl, apiKey, { model: 'test/clip' })).status, 429)
    await releaseVideos(stack)
    for (const id of ids) {
      await videoIn(stack.baseUrl, apiKey, id, ['completed'])
      await clipOf(stack.baseUrl, apiKey, id)
    }
    await untilFree(accountId, before - 800_000_000)
  }
})

test('slots of accounts move between the nodes while requests run, and every response is charged once', async () => {
  const account = await stack.createAccount()
  const slot = await cluster.slotOf(accountKey(shardOf(account.accountId), account.accountId))
  const workload = startWorkload(stack, account, ['test/small'], 6)
  for (const node of [...cluster.nodes, ...cluster.nodes]) {
    await answersCome(workload)
    await cluster.moveSlot(slot, node, () => stack.withAnyRedis(keysOfAll))
  }
  await answersCome(workload)
  const result = await workload.stop()
  assert.equal(result.broken, 0)
  await stack.settled()
  await assertWorkload(stack, result, 70)
})

async function answersCome(workload: Workload): Promise<void> {
  const seen = workload.answered()
  await until('answers come', () => workload.answered() >= seen + 10)
}

/** Going over all keys does not end before the slot has moved, and a slot cannot move while this is waited for. */
async function keysOfAll(redis: Redis): Promise<void> {
  const pages = scanKeys(redis, { match: 'acct:*', count: 100 })
  assert.equal((await pages.next()).done, false)
  await pages.return(undefined)
}
