// Goal: the proceeds of compute locks are earned as customers burn what they bought, whatever the operator still offers and
// however large the sums are; settlements, sales and the end of the month never wait for each other in a circle.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { MAX_UNITS } from '../../../contract/money/units.ts'
import { newId } from '../../../contract/wire/ids.ts'
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
import { addDebitUsage } from '../../../control/book/settlement/keyUsage.ts'
import type { LockSeries } from '../../../control/products/locks/series.ts'
import { seriesKeeper } from '../../../control/products/locks/seriesKeeper.ts'
import { LOT_MICROS } from '../../../control/products/locks/tradeAmounts.ts'
import { type Client, withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import type { TestEnding } from '../../support/parts/endings.ts'
import { type Book, fundedAccount, log, newAccount, scalar, startBook, until } from '../../support/parts/ledger.ts'
import {
  burnt,
  LockMarket,
  MICRO_UNITS,
  MICROS_PER_TOKEN,
  OFFER_NANOS,
  SOLD_MICROS,
  SUPPLY_MICROS,
} from '../../support/parts/lockMarket.ts'

const BURNT_UNITS = 4_000

let book: Book
let market: LockMarket
before(async () => {
  book = await startBook()
  market = new LockMarket(book)
})
after(() => book.stop())

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
    booking = market.settle(...endings)
    booking.catch(() => undefined)
    await until('the booking waits', async () => (await waiting()) === 1)
    await then(client)
  })
  await booking
}

test('burnt tokens earn their share of what customers paid, not of what the operator still offers', async () => {
  const series = await market.issue()
  const accountId = await market.buyer(series)
  const paid = BigInt(OFFER_NANOS * 10)
  assert.equal(await balance(lockUnearnedAccount(series.id)), paid)
  assert.equal(await balance(holdingAccount(series.id, LOCK_OPERATOR)), 0n)
  await market.settle(burnt(series, accountId, BURNT_UNITS))
  const sold = BigInt(SOLD_MICROS * MICRO_UNITS)
  assert.equal(await balance(lockUnearnedAccount(series.id)), paid - (paid * BigInt(BURNT_UNITS)) / sold)
  await market.settle(burnt(series, accountId, SOLD_MICROS * MICRO_UNITS - BURNT_UNITS))
  assert.equal(await balance(lockUnearnedAccount(series.id)), 0n)
})

test('proceeds beyond what one account can hold are earned exactly', async () => {
  const series = await market.issue()
  const accountId = await market.buyer(series)
  const unearned = lockUnearnedAccount(series.id)
  for (const _ of [1, 2]) {
    const payer = await newAccount(book.pool, MAX_UNITS)
    const sale = { kind: 'lock_sale', ref: newId('lor'), debit: coinAccount(payer), credit: unearned }
    await postTransfers(book.pool, [{ ...sale, units: MAX_UNITS, coinNanos: MAX_UNITS }])
  }
  const paid = await balance(unearned)
  assert.ok(paid > BigInt(MAX_UNITS))
  const { rejects } = await market.settle(burnt(series, accountId, BURNT_UNITS))
  assert.deepEqual(rejects, [])
  assert.equal(await balance(unearned), paid - (paid * BigInt(BURNT_UNITS)) / BigInt(SOLD_MICROS * MICRO_UNITS))
})

test('a settlement waits for the proceeds before it counts the usage of keys, as a purchase does', async () => {
  const series = await market.issue()
  const [accountId, other] = [await market.buyer(series), await newAccount(book.pool, 1_000)]
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
  const series = await market.issue()
  const accountId = await market.buyer(series)
  await withTransaction(book.pool, async (client) => {
    const stock = [holdingAccount(series.id, LOCK_OPERATOR)]
    await client.query('SELECT FROM ledger_accounts WHERE id = $1 FOR NO KEY UPDATE', stock)
    await market.settle(burnt(series, accountId, BURNT_UNITS))
  })
})

test('an order to sell more tokens than there are is not covered, however many they are', async () => {
  const series = await market.issue()
  const accountId = await market.buyer(series)
  for (const micros of [SUPPLY_MICROS + LOT_MICROS, MAX_UNITS - (MAX_UNITS % LOT_MICROS)]) {
    await assert.rejects(market.trade(series, { accountId, side: 'sell', micros }), { row: 'insufficient_balance' })
  }
})

test('a series that cannot end, because an account is too full for what comes back, does not keep others from ending', async () => {
  const [stuck, other] = [await market.issue(), await market.issue()]
  const bidder = await fundedAccount(book, OFFER_NANOS)
  await market.trade(stuck, { accountId: bidder, side: 'buy', micros: MICROS_PER_TOKEN, priceNanos: OFFER_NANOS / 2 })
  const rest = MAX_UNITS - OFFER_NANOS / 2
  const credit = { accountId: bidder, nanos: rest, units: rest, ref: newId('evt') }
  await withTransaction(book.pool, (client) => creditCoin(client, credit))
  const end = 'UPDATE lock_series SET ends_at_ms = $2 WHERE id = $1'
  await book.pool.query(end, [stuck.id, 1])
  await book.pool.query(end, [other.id, 2])
  const debits = new Debits(book.pool, book.redis, limits)
  const keeper = seriesKeeper({ pool: book.pool, debits, log, limits: { ...limits, lockSeriesCheckMs: 20 } })
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
