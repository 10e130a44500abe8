// Goal: a lease that rests costs nobody anything: whoever needs its money gets it, whatever becomes of its process or of Redis,
// and balances are shown with it. Method: workers on a real Redis and a real book, whose leases rest after a moment.

import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { ensureAdmission } from '../../../control/admission/keeper.ts'
import { listLeases, scanLeasesKeys } from '../../../control/admission/leaseRecord.ts'
import { grantCredits } from '../../../control/book/ledger/grantCredits.ts'
import { availableOf } from '../../../control/identity/accounts/available.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { awayFromTheHour } from '../../support/awayFromTheHour.ts'
import { type LimitChanges, ledgerLimits } from '../../support/limits.ts'
import { bookUntil } from '../../support/parts/bookUntil.ts'
import { accountState } from '../../support/parts/leaseState.ts'
import { type LeasedRequest, LeasingWorker } from '../../support/parts/leasingWorker.ts'
import {
  assertCleanAudit,
  type Book,
  dispatchEvents,
  drainAll,
  fundedAccount,
  log,
  startBook,
} from '../../support/parts/ledger.ts'
import { until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const FUNDS = 100_000
const DAY_MS = 86_400_000
const HOLD = 10
const CHARGE = 3
/** Eight holds, less the charge. */
const RESTS = 8 * HOLD - CHARGE
/** A busy machine must not make the difference. */
const PATIENT = { recallWaitMs: 1_000 }

let book: Book
let folder: string
let workers: LeasingWorker[] = []
let accountId: string
before(async () => {
  book = await startBook()
  folder = makeTempDir('resting')
  await openAdmission()
})
beforeEach(async () => {
  accountId = await fundedAccount(book, FUNDS)
})
afterEach(async () => {
  for (const worker of workers.splice(0)) assert.equal(await worker.stop(), true)
  await drainAll(book)
  await assertCleanAudit(book)
})
beforeEach(() => awayFromTheHour())
after(async () => {
  await book.stop()
  removeTempDir(folder)
})

async function openAdmission(): Promise<void> {
  const { pool, redis } = book
  await until('admission is open', async () => {
    const done = await ensureAdmission({ pool, redis, log, limits: ledgerLimits })
    return done === 'rebuilt' || done === 'unchanged'
  })
}

async function newWorker(changes: LimitChanges = {}): Promise<LeasingWorker> {
  const worker = await LeasingWorker.start(book.redisServer.url, book.pool, folder, changes)
  workers.push(worker)
  return worker
}

const keyOf = (place: number): string => `key_${place}_${accountId}`

/** A request from its hold to its end. */
async function request(worker: LeasingWorker, place = 0): Promise<LeasedRequest> {
  const held = await worker.take(accountId, keyOf(place), HOLD)
  assert.ok(!(held instanceof GatewayError), String(held))
  await worker.end(held, CHARGE)
  return held
}

/** A worker with one lease that rests. */
async function restingWorker(changes: LimitChanges = {}): Promise<{ worker: LeasingWorker; last: LeasedRequest }> {
  const worker = await newWorker(changes)
  const last = await request(worker)
  await until('its lease rests', () => worker.resting === 1 && worker.undelivered === 0)
  assert.equal(await leasedNow(), RESTS)
  return { worker, last }
}

/** Of the account, without charges. */
async function leasedNow(): Promise<number> {
  const leases = await listLeases(book.redis, await scanLeasesKeys(book.redis))
  return leases.filter((lease) => lease.accountId === accountId).reduce((sum, { coinNanos }) => sum + coinNanos, 0)
}

const outNow = async (): Promise<number> => (await accountState(book.redis, accountId)).out

async function holdsRest(worker: LeasingWorker, how: 'take' | 'takeSingly'): Promise<void> {
  const units = FUNDS - CHARGE
  const held = await worker[how](accountId, keyOf(1), units)
  assert.ok(!(held instanceof GatewayError), String(held))
  assert.equal(held.heldUnits, units)
  await worker.end(held, -1)
}

test('another process gets all that rests, on a lease or by a single hold, and is refused what is not there', async () => {
  for (const how of ['take', 'takeSingly'] as const) {
    accountId = await fundedAccount(book, FUNDS)
    await restingWorker()
    const other = await newWorker(PATIENT)
    await holdsRest(other, how)
    await until('all is free again', async () => (await outNow()) === 0)
    const refused = await other[how](accountId, keyOf(1), FUNDS - CHARGE + 1)
    assert.equal(refused instanceof GatewayError && refused.code, 'insufficient_balance')
  }
})

test('the amount that is shown as available has what rests, which other leases do not notice', async () => {
  const { worker } = await restingWorker()
  await until('it is shown', async () => (await availableOf(book.redis, accountId))?.coinNanos === FUNDS - CHARGE)
  assert.equal(await outNow(), 0)
  await request(worker)
  await until('its lease rests again', () => worker.resting === 1)
  const open = await worker.take(accountId, keyOf(0), HOLD)
  assert.ok(!(open instanceof GatewayError))
  const shown = FUNDS - 2 * CHARGE - HOLD
  await until('all but the hold is shown', async () => (await availableOf(book.redis, accountId))?.coinNanos === shown)
  await worker.end(open, CHARGE)
})

test('credits do not rest beside coin, which other keys would spend before them; coin alone rests', async () => {
  const { pool, redis } = book
  const credits = 2 * HOLD
  const grant = { accountId, units: credits, source: 'welcome', expiresAtMs: Date.now() + DAY_MS }
  await withTransaction(pool, (client) => grantCredits(client, grant, ledgerLimits))
  await dispatchEvents(book)
  const worker = await newWorker()
  await request(worker)
  await until('all comes back', async () => (await outNow()) === 0)
  assert.deepEqual(Object.values((await accountState(redis, accountId)).grants), [credits - CHARGE])
  const rest = await worker.take(accountId, keyOf(1), credits)
  assert.ok(!(rest instanceof GatewayError))
  await worker.end(rest, credits)
  await request(worker)
  await until('coin rests', () => worker.resting === 1 && worker.undelivered === 0)
  assert.deepEqual(
    Object.values((await accountState(redis, accountId)).grants).filter((units) => units > 0),
    [],
  )
})

test('what was charged on a lease that rests is delivered and booked, although nothing is given back', async () => {
  const { worker } = await restingWorker()
  for (let i = 2; i <= 3; i++) {
    await request(worker)
    await until('it is delivered', () => worker.undelivered === 0)
    await drainAll(book)
    const receipts = await book.pool.query('SELECT charge_units FROM receipts WHERE account_id = $1', [accountId])
    assert.deepEqual([receipts.rows.length, await leasedNow()], [i, 8 * HOLD - i * CHARGE])
  }
  await assertCleanAudit(book)
})

test('a key that changes gets its lease given back', async () => {
  const { worker, last } = await restingWorker()
  worker.keyChanged(last)
  await until('it is back', async () => (await outNow()) === 0)
  assert.equal(worker.resting, 0)
})

test('a process keeps as many leases at rest as its limit says', async () => {
  const worker = await newWorker({ leaseRestsMax: 2 })
  for (let place = 0; place < 5; place++) await request(worker, place)
  await until('two rest', async () => worker.resting === 2 && (await leasedNow()) === 2 * RESTS)
})

test('a lease rests only for its time', async () => {
  const worker = await newWorker({ leaseRestMs: 300 })
  await request(worker)
  await until('it is back', async () => worker.undelivered === 0 && (await outNow()) === 0)
})

test('what rests comes back when its process is killed', async () => {
  const { worker } = await restingWorker()
  workers = []
  await worker.kill()
  await bookUntil(book, worker.replay(book.redis))
  assert.deepEqual(await accountState(book.redis, accountId), { coin: FUNDS - CHARGE, grants: {}, out: 0 })
})

test('what rests is void when Redis was emptied, and nothing is held on it', async () => {
  const { worker } = await restingWorker()
  await drainAll(book)
  await book.redis.flushall()
  await openAdmission()
  await until('it is known', () => worker.resting === 0)
  await request(worker)
  await until('the request is delivered', () => worker.undelivered === 0)
  const other = await newWorker(PATIENT)
  const held = await other.take(accountId, keyOf(1), FUNDS - 2 * CHARGE)
  assert.ok(!(held instanceof GatewayError), String(held))
  await other.end(held, -1)
})

test('a process that was without its connection gives back what rests, as it may have missed a recall', async () => {
  const { worker } = await restingWorker()
  await worker.breakConnection()
  await until('it is back', async () => (await outNow()) === 0)
})
