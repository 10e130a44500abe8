// Goal: the proceeds of compute locks are earned as customers burn what they bought, whatever the operator still offers and
// however large the sums are; settlements, sales and the end of the month never wait for each other in a circle.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { MAX_UNITS } from '../../../contract/money/units.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { Debits } from '../../../control/admission/debits/debit.ts'
import {
  coinAccount,
  holdingAccount,
  LOCK_OPERATOR,
  lockUnearnedAccount,
  REVENUE,
} from '../../../control/book/ledger/accounts.ts'
import { creditCoin } from '../../../control/book/ledger/creditCoin.ts'
import { postTransfers } from '../../../control/book/ledger/postTransfers.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { addDebitUsage } from '../../../control/book/settlement/keyUsage.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { issueSeries } from '../../../control/customers/locks/issueSeries.ts'
import { placeOrder } from '../../../control/customers/locks/placeOrder.ts'
import type { LockSeries } from '../../../control/customers/locks/series.ts'
import { SeriesKeeper } from '../../../control/customers/locks/seriesKeeper.ts'
import { LOT_MICROS } from '../../../control/customers/locks/tradeAmounts.ts'
import { OPERATOR } from '../../../control/runtime/activity/activity.ts'
import { type Client, withTransaction } from '../../../control/runtime/db/pool.ts'
import { withUndo } from '../../../control/runtime/db/undoable.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { batchOf, endedOf, type TestEnding } from '../../support/parts/endings.ts'
import { type Book, fundedAccount, log, newAccount, scalar, startBook, until } from '../../support/parts/ledger.ts'

const MICROS_PER_TOKEN = 1_000_000
/** Of a whole token, and of a micro-token. */
const PRICE_UNITS = 1_000_000_000
const MICRO_UNITS = 1_000
const OFFER_NANOS = 120_000_000
const SUPPLY_MICROS = 1_000 * MICROS_PER_TOKEN
const SOLD_MICROS = 10 * MICROS_PER_TOKEN
const BURNT_UNITS = 4_000

let book: Book
let debits: Debits
before(async () => {
  book = await startBook()
  debits = new Debits(book.pool, book.redis, limits)
})
after(() => book.stop())

const inUndoable: <T>(work: Parameters<typeof withUndo<T>>[2]) => Promise<T> = (work) =>
  withUndo(book.pool, () => undefined, work)

/** A series whose supply the operator offers, as the command line issues it. */
function issue(): Promise<LockSeries> {
  const price = { input: '0.5', output: '1' }
  const made = { model: 'acme/chat-small', month: '2099-01', provider: 'acme', price, takerFeePpm: 0 }
  return inUndoable(async (transaction) => {
    const series = await issueSeries(
      transaction.client,
      { ...made, lockedPriceUnits: PRICE_UNITS, supplyMicros: SUPPLY_MICROS },
      limits,
    )
    await trade(transaction, series, LOCK_OPERATOR, 'sell', SUPPLY_MICROS)
    return series
  })
}

function trade(
  transaction: Parameters<typeof placeOrder>[0],
  series: LockSeries,
  accountId: string,
  side: 'buy' | 'sell',
  micros: number,
) {
  const wanted = { accountId, side, priceNanos: OFFER_NANOS, micros } as const
  return placeOrder(transaction, debits, OPERATOR, { series, wanted, coinUsdUnits: PRICE_UNITS }, limits)
}

/** An account that has bought tokens of the operator. */
async function buyer(series: LockSeries): Promise<string> {
  const accountId = await fundedAccount(book, 10 * OFFER_NANOS)
  await inUndoable((transaction) => trade(transaction, series, accountId, 'buy', SOLD_MICROS))
  return accountId
}

const numbers = new Map<string, number>()

/** Books the endings of one proxy in one batch, in one shard of each account. */
function settle(...endings: TestEnding[]) {
  const raws = endings.map((ending) => {
    const owner = newId('own')
    const shard = shardOf(ending.accountId)
    const seq = (numbers.get(String(shard)) ?? 0) + 1
    numbers.set(String(shard), seq)
    return { shard, id: `${seq}-1`, fields: [Buffer.from('b'), batchOf(owner, 1, [endedOf(ending)])] }
  })
  return bookEntries(book.pool, parseEntries(raws))
}

/** The ending of a request that burns tokens and is charged nothing beside. */
function burnt(series: LockSeries, accountId: string, units: number): TestEnding {
  const lock = { lockSeries: series.id, lockUnits: units, lockMicros: units / MICRO_UNITS, holdUnits: units }
  return { accountId, charge: 0, split: `${series.id}=${units}`, settlement: lock }
}

const balance = (id: string) =>
  scalar<string>(book.pool, 'SELECT balance::text FROM ledger_accounts WHERE id = $1', [id]).then(BigInt)
const waiting = () =>
  scalar<number>(
    book.pool,
    `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  )

/** Books while another transaction is open, which goes on once the booking waits for it. */
async function besides(
  first: (client: Client) => Promise<unknown>,
  then: (client: Client) => Promise<unknown>,
  endings: TestEnding[],
) {
  let booking: Promise<unknown> = Promise.resolve()
  await withTransaction(book.pool, async (client) => {
    await first(client)
    booking = settle(...endings)
    booking.catch(() => undefined)
    await until('the booking waits', async () => (await waiting()) === 1)
    await then(client)
  })
  await booking
}

test('burnt tokens earn their share of what customers paid, not of what the operator still offers', async () => {
  const series = await issue()
  const accountId = await buyer(series)
  const paid = BigInt(OFFER_NANOS * 10)
  assert.equal(await balance(lockUnearnedAccount(series.id)), paid)
  assert.equal(await balance(holdingAccount(series.id, LOCK_OPERATOR)), 0n)
  await settle(burnt(series, accountId, BURNT_UNITS))
  const sold = BigInt(SOLD_MICROS * MICRO_UNITS)
  assert.equal(await balance(lockUnearnedAccount(series.id)), paid - (paid * BigInt(BURNT_UNITS)) / sold)
  await settle(burnt(series, accountId, SOLD_MICROS * MICRO_UNITS - BURNT_UNITS))
  assert.equal(await balance(lockUnearnedAccount(series.id)), 0n)
})

test('proceeds beyond what one account can hold are earned exactly', async () => {
  const series = await issue()
  const accountId = await buyer(series)
  const unearned = lockUnearnedAccount(series.id)
  for (const _ of [1, 2]) {
    const payer = await newAccount(book.pool, MAX_UNITS)
    const sale = { kind: 'lock_sale', ref: newId('lor'), debit: coinAccount(payer), credit: unearned }
    await postTransfers(book.pool, [{ ...sale, units: MAX_UNITS, coinNanos: MAX_UNITS }])
  }
  const paid = await balance(unearned)
  assert.ok(paid > BigInt(MAX_UNITS))
  const { rejects } = await settle(burnt(series, accountId, BURNT_UNITS))
  assert.deepEqual(rejects, [])
  assert.equal(await balance(unearned), paid - (paid * BigInt(BURNT_UNITS)) / BigInt(SOLD_MICROS * MICRO_UNITS))
})

test('a settlement waits for the proceeds before it counts the usage of keys, as a purchase does', async () => {
  const series = await issue()
  const [accountId, other] = [await buyer(series), await newAccount(book.pool, 1_000)]
  const keyId = other.replace('acct', 'key')
  const sale = {
    kind: 'lock_sale',
    ref: newId('lor'),
    debit: coinAccount(other),
    credit: lockUnearnedAccount(series.id),
  }
  await besides(
    (client) => postTransfers(client, [{ ...sale, units: 1_000 }]),
    (client) => addDebitUsage(client, { keyId, accountId: other, takenAtMs: Date.now(), units: 1_000 }),
    [burnt(series, accountId, BURNT_UNITS), { accountId: other, charge: -1 }],
  )
  const requests = 'SELECT sum(requests) FROM key_usage WHERE key_id = $1'
  assert.equal(await scalar<number>(book.pool, requests, [keyId]), 1)
})

test('a settlement does not wait for the stock of the operator, which burns at the end of the month', async () => {
  const series = await issue()
  const accountId = await buyer(series)
  await withTransaction(book.pool, async (client) => {
    const stock = [holdingAccount(series.id, LOCK_OPERATOR)]
    await client.query('SELECT FROM ledger_accounts WHERE id = $1 FOR NO KEY UPDATE', stock)
    await settle(burnt(series, accountId, BURNT_UNITS))
  })
})

test('an order to sell more tokens than there are is not covered, however many they are', async () => {
  const series = await issue()
  const accountId = await buyer(series)
  for (const micros of [SUPPLY_MICROS + LOT_MICROS, MAX_UNITS - (MAX_UNITS % LOT_MICROS)]) {
    await assert.rejects(
      inUndoable((transaction) => trade(transaction, series, accountId, 'sell', micros)),
      { row: 'insufficient_balance' },
    )
  }
})

test('a series that can not end, because an account is too full for what comes back, does not keep others from ending', async () => {
  const [stuck, other] = [await issue(), await issue()]
  const bidder = await fundedAccount(book, OFFER_NANOS)
  await inUndoable((transaction) => {
    const wanted = { accountId: bidder, side: 'buy', priceNanos: OFFER_NANOS / 2, micros: MICROS_PER_TOKEN } as const
    return placeOrder(transaction, debits, OPERATOR, { series: stuck, wanted, coinUsdUnits: PRICE_UNITS }, limits)
  })
  const rest = MAX_UNITS - OFFER_NANOS / 2
  const credit = { accountId: bidder, nanos: rest, units: rest, ref: newId('evt') }
  await withTransaction(book.pool, (client) => creditCoin(client, credit))
  const end = 'UPDATE lock_series SET ends_at_ms = $2 WHERE id = $1'
  await book.pool.query(end, [stuck.id, 1])
  await book.pool.query(end, [other.id, 2])
  const keeper = new SeriesKeeper({ pool: book.pool, log, limits: { ...limits, lockSeriesCheckMs: 20 } })
  const state = ({ id }: LockSeries) => scalar<string>(book.pool, 'SELECT state FROM lock_series WHERE id = $1', [id])
  try {
    await until('the other one has ended', async () => (await state(other)) !== 'open')
    assert.equal(await state(stuck), 'open')
    const spent = { kind: 'fee', ref: newId('evt'), debit: coinAccount(bidder), credit: REVENUE, units: OFFER_NANOS }
    await postTransfers(book.pool, [spent])
    await until('it has ended', async () => (await state(stuck)) !== 'open')
  } finally {
    await keeper.stop()
  }
})
