// Goal: when the machine of PostgreSQL's primary is lost under load, no receipt that a client saw is lost, and booking goes on by
// itself. Method: two servers under Patroni with a synchronous standby, HAProxy before them; Patroni and PostgreSQL of the primary
// are killed while clients keep asking.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { PatroniCluster } from '../support/patroni/patroniCluster.ts'
import { type Stack, startStack, type TestAccount, until } from '../support/stack.ts'
import { assertWorkload, describe, startWorkload } from '../support/workload.ts'

/** Longer than the lease of the primary, and the time in which the standby takes over. */
const TAKEOVER_TIMEOUT_MS = 120_000
const DEBIAN = '/usr/lib/postgresql'
const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).toSorted((a, b) => Number(b) - Number(a)) : []
const binFolder = versions
  .map((version) => `${DEBIAN}/${version}/bin`)
  .find((folder) => existsSync(`${folder}/postgres`))
const missing = ['patroni', 'etcd', 'haproxy'].filter((program) => spawnSync('which', [program]).status !== 0)
const skip = (binFolder === undefined || missing.length > 0) && `${missing.join(', ') || 'PostgreSQL'} is not here`

let cluster: PatroniCluster
let stack: Stack
let account: TestAccount

before(async () => {
  if (skip !== false) return
  cluster = await PatroniCluster.start(binFolder ?? '')
  stack = await startStack({
    postgres: cluster,
    workers: 2,
    catalog: { models: [{ id: 'test/paced', upstream: 'mock,chunks=10,delay=10' }] },
    limits: { breakerFailures: 1_000_000 },
  })
  account = await stack.createAccount({ coin: '500' })
})
after(() => (skip === false ? stack.finish() : undefined))

test('the standby takes over from a primary whose machine is lost, and all receipts are kept', { skip }, async (t) => {
  const lost = await cluster.primary()
  const workload = startWorkload(stack, account, ['test/paced'], 8)
  t.after(() => workload.stop())
  await until('answers come', () => workload.answered() >= 200)
  const killedMs = performance.now()
  await cluster.kill9()
  const seen = workload.answered()
  const hasTakenOver = async (): Promise<boolean> => {
    const reached = await cluster.reached()
    return reached !== undefined && reached !== lost && reached === (await cluster.primary())
  }
  await until('the standby is the primary', hasTakenOver, TAKEOVER_TIMEOUT_MS)
  const takenMs = performance.now() - killedMs
  const during = workload.answered() - seen
  t.diagnostic(`another primary after ${(takenMs / 1_000).toFixed(1)} s, with ${during} answers meanwhile`)
  const again = await stack.createAccount({ coin: '1' })
  t.diagnostic(`accounts are made again after ${((performance.now() - killedMs) / 1_000).toFixed(1)} s`)
  assert.notEqual(again.accountId, account.accountId)
  const enough = workload.answered() + 200
  await until('answers come with the new primary', () => workload.answered() >= enough)
  const result = await workload.stop()
  t.diagnostic(describe(result))
  assert.ok(during > 0, 'keys in use go on without PostgreSQL')
  await stack.settled()
  await assertWorkload(stack, result, 400)
})

test('the machine that was lost comes back as the synchronous standby', { skip }, async () => {
  await cluster.restart()
  await until('the standby is synchronous', () => cluster.hasStandby(), TAKEOVER_TIMEOUT_MS)
  const workload = startWorkload(stack, account, ['test/paced'], 4)
  await until('answers come', () => workload.answered() >= 100)
  const result = await workload.stop()
  await stack.settled()
  await assertWorkload(stack, result, 100)
})
