// Goal: when Sentinel makes the replica the master, admission is loaded from the book and every answer is charged once. Method:
// a master with a replica and three Sentinels; the master is killed while clients keep asking.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type SentinelServers, startTestSentinel } from '../support/redis/redisSentinel.ts'
import { type Stack, startStack, type TestAccount, until } from '../support/stack.ts'
import { assertWorkload, describe, startWorkload } from '../support/workload.ts'

let servers: SentinelServers
let stack: Stack
let account: TestAccount

before(async () => {
  servers = await startTestSentinel()
  stack = await startStack({
    redis: servers,
    workers: 2,
    catalog: { models: [{ id: 'test/paced', upstream: 'mock,chunks=10,delay=10' }] },
    limits: { heartbeatIntervalMs: 500, breakerFailures: 1_000_000 },
  })
  account = await stack.createAccount({ coin: '50' })
})
after(() => stack.finish())

test('the replica is promoted after the master is killed', async () => {
  const workload = startWorkload(stack, account, ['test/paced'], 8)
  await until('answers come', () => workload.answered() >= 20)
  const before = await servers.master()
  await before.kill9()
  await until('Sentinel names the replica', async () => (await servers.master()) !== before)
  await until('the new server was noticed', () => /another server took over/.test(stack.logs()))
  const seen = workload.answered()
  await until('answers come again', () => workload.answered() >= seen + 20)
  const result = await workload.stop()
  process.stdout.write(`# ${describe(result)}\n`)
  await stack.settled()
  await assertWorkload(stack, result, 40)
  assert.equal(await stack.withAnyRedis((redis) => redis.ping()), 'PONG')
})
