// Goal: a book that is full of small orders stays fast: quotes, orders and reads take about as long as in an empty one, an order
// fills thousands of them at once, and all of them end with their series. Method: 100,000 asks of one lot, written as placed.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../contract/wire/ids.ts'
import { Debits } from '../../control/admission/debits/debit.ts'
import { LOCK_OPERATOR } from '../../control/book/ledger/accounts.ts'
import { openHolding } from '../../control/book/ledger/openHolding.ts'
import { bookJson } from '../../control/products/locks/lockJson.ts'
import { quoteBuy } from '../../control/products/locks/quotes.ts'
import type { LockSeries } from '../../control/products/locks/series.ts'
import { seriesKeeper } from '../../control/products/locks/seriesKeeper.ts'
import { LOT_MICROS } from '../../control/products/locks/tradeAmounts.ts'
import { withTransaction } from '../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../support/limits.ts'
import {
  assertCleanAudit,
  type Book,
  dispatchEvents,
  ensureOpen,
  fundedAccount,
  log,
  newAccount,
  scalar,
  startBook,
  until,
} from '../support/parts/ledger.ts'
import { LockMarket, OFFER_NANOS } from '../support/parts/lockMarket.ts'
import { itemOf } from '../support/present.ts'

const ACCOUNTS = 1_000
const ORDERS_PER_STATEMENT = 5_000
const ORDERS = 100_000
const PRICES = 100
/** On a loaded machine: a quiet one takes 60 ms, and whatever goes through all orders one by one takes minutes. */
const QUICK_MS = 3_000
const FILL_MS = 20_000

let book: Book
let market: LockMarket
let series: LockSeries
before(async () => {
  book = await startBook()
  market = new LockMarket(book)
  series = await market.issue()
  await plantDust()
  await ensureOpen(book)
})
after(() => book.stop())

const PLANT = `
  INSERT INTO lock_orders (id, series_id, account_id, side, type, price_nanos, token_micros, status, escrow_micros)
  SELECT id, $1, ($3::text[])[1 + n % ${ACCOUNTS}], 'sell', 'limit', ${OFFER_NANOS} - 1000 * (1 + n % ${PRICES}), ${LOT_MICROS}, 'open', ${LOT_MICROS}
  FROM unnest($2::text[]) WITH ORDINALITY AS o (id, n)`

/** As if many accounts had bought a tenth of the supply and offered it again, below the operator: it stays in escrow. */
async function plantDust(): Promise<void> {
  const { pool } = book
  const makers: string[] = []
  for (let i = 0; i < ACCOUNTS; i++) makers.push(await newAccount(pool, 0))
  await withTransaction(pool, async (client) => {
    for (const maker of makers) await openHolding(client, series.id, maker)
    await client.query(
      `UPDATE lock_orders SET token_micros = token_micros - $2, escrow_micros = escrow_micros - $2
       WHERE series_id = $1 AND account_id = '${LOCK_OPERATOR}'`,
      [series.id, ORDERS * LOT_MICROS],
    )
    // One statement for all takes longer beside other load than any of the gateway may.
    for (let planted = 0; planted < ORDERS; planted += ORDERS_PER_STATEMENT) {
      const ids = Array.from({ length: ORDERS_PER_STATEMENT }, () => newId('lor'))
      await client.query(PLANT, [series.id, ids, makers])
    }
  })
  await pool.query('ANALYZE lock_orders')
}

async function timed<T>(what: string, mostMs: number, work: () => Promise<T>): Promise<T> {
  const startMs = performance.now()
  const done = await work()
  const tookMs = Math.round(performance.now() - startMs)
  process.stdout.write(`# ${what}: ${tookMs} ms\n`)
  assert.ok(tookMs < mostMs, `${what} took ${tookMs} ms`)
  return done
}

test('a book of 100,000 orders is read, quoted and traded immediately, and ends with its series', async () => {
  const taker = await fundedAccount(book, 1_000 * OFFER_NANOS)
  const quote = (micros: number) =>
    withTransaction(book.pool, (client) => quoteBuy(client, series, taker, micros, limits))
  await timed('the shown book', QUICK_MS, () => bookJson(book.pool, series.id, limits))
  const small = await timed('a quote for 100 orders', QUICK_MS, () => quote(100 * LOT_MICROS))
  assert.equal(small.matched.fills.length, 100)
  const most = limits.lockFillsPerOrderMax
  assert.equal(small.fillableMicros, most * LOT_MICROS)
  await assert.rejects(
    timed('a quote for more than one order fills', QUICK_MS, () => quote((most + 1) * LOT_MICROS)),
    { row: 'lock_no_offer', message: /One order can buy 2\.000000 tokens/ },
  )
  const buy = (micros: number) => market.trade(series, { accountId: taker, side: 'buy', micros })
  await timed('an order that fills 10', QUICK_MS, () => buy(10 * LOT_MICROS))
  const large = await timed(`an order that fills ${most}`, FILL_MS, () => buy(most * LOT_MICROS))
  assert.deepEqual([large.fills.length, large.order.status], [most, 'filled'])
  const prices = large.fills.map(({ priceNanos }) => priceNanos)
  assert.deepEqual(
    prices,
    [...prices].sort((one, other) => one - other),
  )
  const beyond = await buy((most + 1) * LOT_MICROS)
  assert.deepEqual([beyond.fills.length, beyond.order.status], [most, 'cancelled'])
  const [maker] = [itemOf(beyond.fills, 0).maker.accountId]
  await timed('an order beside them', QUICK_MS, () =>
    market.trade(series, { accountId: taker, side: 'buy', micros: LOT_MICROS, priceNanos: OFFER_NANOS / 2 }),
  )
  assert.notEqual(maker, LOCK_OPERATOR)

  await book.pool.query('UPDATE lock_series SET ends_at_ms = 1 WHERE id = $1', [series.id])
  // Redis has the end of the month in its list of pots.
  await book.redis.flushall()
  await ensureOpen(book)
  const debits = new Debits(book.pool, book.redis, limits)
  const keeper = seriesKeeper({ pool: book.pool, debits, log, limits: { ...limits, lockSeriesCheckMs: 20 } })
  const open = `SELECT count(*) FROM lock_orders WHERE status = 'open'`
  const startMs = performance.now()
  await until('all orders are expired', async () => (await scalar<number>(book.pool, open)) === 0, 300_000).finally(
    () => keeper.stop(),
  )
  process.stdout.write(`# the end of the series: ${Math.round(performance.now() - startMs)} ms\n`)
  await dispatchEvents(book)
  await assertCleanAudit(book)
})
