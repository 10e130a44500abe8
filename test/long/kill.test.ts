// Goal: no crash of any part loses or invents money. Method: clients keep asking while a part is killed with SIGKILL and
// brought back, several times; then all holds must have ended, the audit must be clean, and every whole answer must be
// charged what the provider's own log says.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { present } from '../support/present.ts'
import { type Stack, startStack, type TestAccount, until } from '../support/stack.ts'
import { assertWorkload, childrenOf, describe, startWorkload } from '../support/workload.ts'

const CLIENTS = 24
const ROUNDS = 3
const MODELS = ['test/small', 'test/paced', 'test/cached', 'test/flaky']
const CATALOG = {
  models: [
    { id: 'test/small', upstream: 'mock,chunks=8' },
    { id: 'test/paced', upstream: 'mock,chunks=20,delay=20' },
    { id: 'test/cached', upstream: 'mock,chunks=5,prompt=100,cached=60' },
    { id: 'test/flaky', upstream: 'mock,chunks=20,delay=5,cut=7' },
  ],
}
const LIMITS = { heartbeatIntervalMs: 200, heartbeatTimeoutMs: 4_000, orphanCheckMs: 200, breakerFailures: 1_000_000 }

let stack: Stack
let account: TestAccount

before(async () => {
  stack = await startStack({ catalog: CATALOG, limits: LIMITS, ownPostgres: true })
  account = await stack.createAccount({ credits: '5', coin: '5' })
})
after(() => stack.stop())

async function survive(strike: (round: number) => Promise<void>): Promise<void> {
  const workload = startWorkload(stack, account, MODELS, CLIENTS)
  for (let round = 0; round < ROUNDS; round++) {
    const seen = workload.answered()
    await until('answers come', () => workload.answered() >= seen + 60)
    await strike(round)
  }
  const seen = workload.answered()
  await until('answers come again', () => workload.answered() >= seen + 60)
  const result = await workload.stop()
  await stack.settled()
  await stack.audit()
  await assertWorkload(stack, result, 100)
  process.stdout.write(`# ${describe(result)}\n`)
}

test('a proxy worker is killed in the middle of streams', async () => {
  await survive(async () => {
    const pid = stack.proxy.pid
    assert.ok(pid !== undefined)
    const [worker] = childrenOf(pid)
    process.kill(present(worker), 'SIGKILL')
    await until('a new worker runs', () => childrenOf(pid).some((child) => child !== worker))
  })
})

test('the whole proxy is killed and restarted', async () => {
  await survive(async () => {
    const pid = stack.proxy.pid
    assert.ok(pid !== undefined)
    for (const worker of childrenOf(pid)) process.kill(present(worker), 'SIGKILL')
    await stack.proxy.kill9()
    await stack.proxy.start()
  })
})

test('control is killed in the middle of batches', async () => {
  await survive(async (round) => {
    await stack.control.kill9()
    await sleep(100 * round)
    await stack.control.start()
  })
})

test('Redis is killed in the middle of streams and restarts from its append-only file', async () => {
  await survive(async (round) => {
    await stack.redis.kill9()
    await sleep(300 * round)
    await stack.redis.restart()
  })
})

test('PostgreSQL is killed in the middle of batches', async () => {
  await survive(async (round) => {
    assert.ok(stack.postgres !== undefined)
    await stack.postgres.kill9()
    await sleep(200 * round)
    await stack.postgres.restart()
  })
})

test('all processes are killed together', async () => {
  await survive(async () => {
    const pid = stack.proxy.pid
    assert.ok(pid !== undefined && stack.postgres !== undefined)
    for (const worker of childrenOf(pid)) process.kill(present(worker), 'SIGKILL')
    await Promise.all([stack.proxy.kill9(), stack.control.kill9(), stack.redis.kill9(), stack.postgres.kill9()])
    await Promise.all([stack.redis.restart(), stack.postgres.restart()])
    await stack.control.start()
    await stack.proxy.start()
  })
})
