// Goal: nobody is refused for money that lies idle in leases: debits and charges of lost holds call it back first, for a bounded
// time. Method: workers in small, which answer recalls or do not, over a real book and a real Redis.

import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { NO_CAPS } from '../../../contract/money/windows.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { connectRedis } from '../../../contract/wire/redis.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { Debits } from '../../../control/admission/debits/debit.ts'
import { settleLost } from '../../../control/admission/settleLost.ts'
import type { Spender } from '../../../control/book/ledger/spender.ts'
import { withUndo } from '../../../control/runtime/db/undoable.ts'
import { ledgerLimits } from '../../support/limits.ts'
import { keyOf } from '../../support/parts/leaseOwner.ts'
import { accountState } from '../../support/parts/leaseState.ts'
import { LeaseWorker } from '../../support/parts/leaseWorker.ts'
import {
  assertCleanAudit,
  type Book,
  dispatchEvents,
  drainAll,
  ensureOpen,
  fundedAccount,
  settlementOf,
  startBook,
} from '../../support/parts/ledger.ts'

/** A busy machine must not make the difference. */
const limits = { ...ledgerLimits, recallMs: 5_000 }
const soon = { ...ledgerLimits, recallMs: 20 }

let book: Book
let payee: string
let workers: LeaseWorker[] = []
let beats: NodeJS.Timeout
before(async () => {
  book = await startBook()
  await ensureOpen(book)
  payee = await fundedAccount(book, 1)
})
beforeEach(async () => {
  workers = [await LeaseWorker.start(book), await LeaseWorker.start(book)]
  const living = workers
  beats = setInterval(() => {
    for (const worker of living) worker.calls.beat().catch(() => undefined)
  }, 50)
})
afterEach(() => {
  clearInterval(beats)
  for (const worker of workers) worker.stop()
})
after(() => book.stop())

async function debit(accountId: string, units: number, spender?: Spender, bounds = limits): Promise<void> {
  const debits = new Debits(book.pool, book.redis, bounds)
  const what = { id: newId('pay'), accountId, nanos: units, units, kind: 'agent_pay', to: { accountId: payee } }
  await withUndo(
    book.pool,
    (error) => assert.fail(String(error)),
    (transaction) => debits.move(transaction, spender === undefined ? what : { ...what, spender }),
  )
}

/** An account with 1,000 of coin, of which both workers have 450 each that lie idle. */
async function idleAccount(): Promise<string> {
  const accountId = await fundedAccount(book, 1_000)
  for (const worker of workers) await worker.lease({ accountId, want: 450 })
  return accountId
}

test('a debit recalls the idle leases of several workers', async () => {
  const accountId = await idleAccount()
  await debit(accountId, 1_000)
  await dispatchEvents(book)
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 0, grants: {}, out: 0 })
  await assertCleanAudit(book)
})

test('a debit is not rejected by a cap because of idle leases of the key', async () => {
  const accountId = await idleAccount()
  const caps = { ...NO_CAPS, hourUnits: 1_000 }
  await debit(accountId, 500, { keyId: keyOf(accountId), caps })
  await assert.rejects(debit(accountId, 501, { keyId: keyOf(accountId), caps }, soon), { row: 'insufficient_balance' })
  await dispatchEvents(book)
  await assertCleanAudit(book)
})

test('held amounts are not recalled: the debit is rejected in bounded time and leaves no trace', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const [worker] = workers
  const open = await worker?.hold(accountId, 900)
  const beganMs = performance.now()
  await assert.rejects(debit(accountId, 500, undefined, soon), { row: 'insufficient_balance' })
  assert.ok(performance.now() - beganMs >= soon.recallMs)
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 100, grants: {}, out: 900 })
  worker?.end(open ?? '', 900)
  await worker?.deliver(shardOf(accountId))
  await drainAll(book)
  await assertCleanAudit(book)
})

test('a debit is rejected immediately if no recalled lease could cover it', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const subscriber = connectRedis(book.redisServer.url, 'wait')
  const recalls: string[] = []
  subscriber.on('message', (_channel: string, text: string) => recalls.push(text))
  await subscriber.subscribe('recall')
  await assert.rejects(debit(accountId, 1_001, undefined, soon), { row: 'insufficient_balance' })
  await subscriber.ping()
  assert.deepEqual(recalls, [])
  subscriber.disconnect()
})

test('a charge whose hold was lost takes idle leases first, then the free balance', async () => {
  const lost = (accountId: string, bounds: typeof limits) => {
    const settlement = settlementOf({ accountId, requestId: newId('req'), chargeUnits: 700, holdUnits: 700 })
    return settleLost(book.redis, book.pool, settlement, bounds)
  }
  const idle = await idleAccount()
  assert.equal(await lost(idle, limits), 700)
  const accountId = await fundedAccount(book, 1_000)
  await workers[0]?.hold(accountId, 900)
  assert.equal(await lost(accountId, soon), 100)
  await drainAll(book)
  assert.deepEqual(await accountState(book.redis, idle), { coin: 300, grants: {}, out: 0 })
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 0, grants: {}, out: 900 })
  await assertCleanAudit(book)
})
