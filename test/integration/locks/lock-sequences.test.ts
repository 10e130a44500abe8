// Goal: orders, cancels, processes that die between any two steps, a Redis that is lost and the end of the month leave every
// balance of coin and tokens as a model reckons it, in the book and in Redis.
// Method: random sequences on a real PostgreSQL and a real Redis beside a model: the matching engine over sums in memory.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { UNITS_PER_USD } from '../../../contract/money/units.ts'
import { accountKey, debitsKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { Debits } from '../../../control/admission/debits/debit.ts'
import { debitKeeper } from '../../../control/admission/debits/debitKeeper.ts'
import { GrantSweeper } from '../../../control/admission/grantSweeper.ts'
import { ensureAdmission } from '../../../control/admission/keeper.ts'
import { auditBook } from '../../../control/audit/runAudit.ts'
import {
  coinAccount,
  holdingAccount,
  LOCK_OPERATOR,
  lockUnearnedAccount,
} from '../../../control/book/ledger/accounts.ts'
import { cancelOrder } from '../../../control/products/locks/endOrders.ts'
import { issueSeries } from '../../../control/products/locks/issueSeries.ts'
import { placeOrder } from '../../../control/products/locks/placeOrder.ts'
import { type LockSeries, lockTradedSeries } from '../../../control/products/locks/series.ts'
import { endSeries } from '../../../control/products/locks/seriesKeeper.ts'
import { LOT_MICROS, TICK_NANOS, unitsOfTokens } from '../../../control/products/locks/tradeAmounts.ts'
import { OPERATOR } from '../../../control/runtime/activity/activity.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { type UndoableTransaction, withUndo } from '../../../control/runtime/db/undoable.ts'
import { ledgerLimits } from '../../support/limits.ts'
import {
  assertCleanAudit,
  type Book,
  dispatchEvents,
  drainAll,
  fundedAccount,
  log,
  scalar,
  startBook,
  until,
} from '../../support/parts/ledger.ts'
import { LockModel } from '../../support/parts/lockModel.ts'
import { itemOf } from '../../support/present.ts'
import { rounds } from '../../support/rounds.ts'

const limits = {
  ...ledgerLimits,
  lockFillsPerOrderMax: 3,
  lockOrderUnitsMin: 0,
  debitVoidMs: 0,
  debitCheckMs: 10,
  grantSweepMs: 10,
  leaseReportersMs: 10,
}
const ACCOUNTS = 3
const FUNDS_NANOS = 60_000
const SUPPLY_LOTS = 40
const LOCKED_PRICE_UNITS = 150_000_000
const FEE_PPM = 25_000
const CUSTOMERS = Array.from({ length: ACCOUNTS }, (_, i) => i)

let book: Book
let debits: Debits
before(async () => {
  book = await startBook()
  debits = new Debits(book.pool, book.redis, limits)
  await openAdmission()
})
after(() => book.stop())

async function openAdmission(): Promise<void> {
  assert.equal(await ensureAdmission({ ...book, log, limits }), 'rebuilt')
}

const order = fc.record({
  kind: fc.constantFrom('order' as const, 'order' as const, 'order' as const, 'dying order' as const),
  account: fc.nat(ACCOUNTS - 1),
  side: fc.constantFrom('buy' as const, 'sell' as const),
  lots: fc.integer({ min: 1, max: 12 }),
  ticks: fc.integer({ min: 1, max: 5 }),
  isMarket: fc.boolean(),
})
const step = fc.oneof(
  { weight: 12, arbitrary: order },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('cancel' as const), place: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('lose Redis' as const) }) },
)
type Order = typeof order extends fc.Arbitrary<infer One> ? One : never

/** Dies with its transaction: nothing is undone. */
class Dead extends Error {}

/** What everybody has, by what was done. */
class World {
  private readonly accounts: string[]
  private readonly series: LockSeries
  private readonly model: LockModel
  private readonly ids: string[] = []
  private place = 0

  private constructor(accounts: string[], series: LockSeries, offer: string) {
    this.accounts = accounts
    this.series = series
    const micros = SUPPLY_LOTS * LOT_MICROS
    const first = {
      id: offer,
      accountId: LOCK_OPERATOR,
      side: 'sell',
      priceNanos: 3 * TICK_NANOS,
      place: 0,
      micros,
    } as const
    this.model = new LockModel(first, FEE_PPM, limits.lockFillsPerOrderMax)
    for (const account of accounts) this.model.nanos.set(account, FUNDS_NANOS)
    this.model.nanos.set(LOCK_OPERATOR, 0)
  }

  static async start(): Promise<World> {
    const accounts: string[] = []
    for (const _ of CUSTOMERS) accounts.push(await fundedAccount(book, FUNDS_NANOS))
    const month = new Date().toISOString().slice(0, 7)
    const made = {
      model: 'test/model',
      month,
      provider: 'test',
      lockedPriceUnits: LOCKED_PRICE_UNITS,
      price: { input: '0.15', output: '0.6' },
      supplyMicros: SUPPLY_LOTS * LOT_MICROS,
      takerFeePpm: FEE_PPM,
    }
    const placed = await withUndo(book.pool, throwIt, async (transaction) => {
      const series = await issueSeries(transaction.client, made, limits)
      const wanted = {
        accountId: LOCK_OPERATOR,
        side: 'sell',
        priceNanos: 3 * TICK_NANOS,
        micros: made.supplyMicros,
      } as const
      return { series, ...(await placeOrder(transaction, debits, OPERATOR, { series, wanted, coinUsdUnits }, limits)) }
    })
    return new World(accounts, placed.series, placed.order.id)
  }

  async order({ kind, account, side, lots, ticks, isMarket }: Order): Promise<void> {
    const accountId = itemOf(this.accounts, account)
    const priceNanos = isMarket ? undefined : ticks * TICK_NANOS
    const wanted = { accountId, side, priceNanos, micros: lots * LOT_MICROS }
    const isDying = kind === 'dying order'
    const work = async (transaction: UndoableTransaction) => {
      const series = await lockTradedSeries(transaction.client, this.series.id)
      const placed = await placeOrder(transaction, debits, OPERATOR, { series, wanted, coinUsdUnits }, limits)
      if (isDying) throw new Dead()
      return placed
    }
    const run = () => {
      if (!isDying) return withUndo(book.pool, throwIt, work)
      return withTransaction(book.pool, (client) => work({ client, onRollback: () => {} }))
    }
    const expected = this.model.expected(wanted)
    const outcome = await run().then(
      (placed) => placed.order.id,
      (error: unknown) =>
        error instanceof GatewayError ? error.code : error instanceof Dead ? 'dead' : Promise.reject(error),
    )
    if (isDying) {
      await this.giveBackLeft(accountId)
      assert.equal(outcome, typeof expected === 'string' ? expected : 'dead')
      return
    }
    if (typeof expected === 'string') return assert.equal(outcome, expected)
    this.ids.push(String(outcome))
    this.model.place(wanted, String(outcome), ++this.place)
  }

  async cancel(place: number): Promise<void> {
    if (this.ids.length === 0) return
    const id = itemOf(this.ids, place % this.ids.length)
    const open = [...this.model.book.bids, ...this.model.book.asks].find((one) => one.id === id)
    const owner = await scalar<string>(book.pool, 'SELECT account_id FROM lock_orders WHERE id = $1', [id])
    const cancel = withTransaction(book.pool, (client) => cancelOrder(client, OPERATOR, id, owner, coinUsdUnits))
    if (open === undefined) {
      await assert.rejects(cancel, { code: 'lock_order_ended' })
      return
    }
    await cancel
    this.model.apply({ kind: 'cancel', orderId: id })
  }

  async loseRedis(): Promise<void> {
    await book.redis.flushall()
    await openAdmission()
  }

  /** The month ends: everything is over, and all coin is with who it belongs to. */
  async end(): Promise<void> {
    const { pool } = book
    await pool.query('UPDATE lock_series SET ends_at_ms = extract(epoch FROM now()) * 1000 - 1 WHERE id = $1', [
      this.series.id,
    ])
    // Redis has the end of the month in its list of pots.
    await book.redis.flushall()
    await openAdmission()
    this.model.apply({ kind: 'expire' })
    this.model.micros.clear()
    const sweeper = new GrantSweeper({ ...book, log, limits })
    const isClosed = async () => {
      // Two at once, as two controls would.
      await Promise.all([0, 1].map(() => withTransaction(pool, (client) => endSeries(client, this.series.id, limits))))
      await drainAll(book)
      return (await scalar(pool, 'SELECT state FROM lock_series WHERE id = $1', [this.series.id])) === 'closed'
    }
    await until('the series is closed', isClosed).finally(() => sweeper.stop())
    assert.equal(await this.balance(lockUnearnedAccount(this.series.id)), 0)
    this.model.nanos.set(LOCK_OPERATOR, 0)
  }

  /** Compares with the book and with Redis. */
  async check(): Promise<void> {
    await dispatchEvents(book)
    for (const account of this.accounts) {
      assert.equal(await this.balance(coinAccount(account)), this.model.nanos.get(account), `coin of ${account}`)
      const units = unitsOfTokens(this.model.micros.get(account) ?? 0, LOCKED_PRICE_UNITS)
      assert.equal(await this.balance(holdingAccount(this.series.id, account)), units, `tokens of ${account}`)
      const [coin, pots] = await book.redis.hmget(accountKey(shardOf(account), account), 'coin', 'g')
      assert.equal(Number(coin), this.model.nanos.get(account), `coin of ${account} in Redis`)
      const pot = (pots ?? '').split(';').find((one) => one.startsWith(`${this.series.id},`))
      assert.equal(Number(pot?.split(',')[2] ?? 0), units, `tokens of ${account} in Redis`)
    }
    assert.equal(await this.balance(lockUnearnedAccount(this.series.id)), this.model.nanos.get(LOCK_OPERATOR))
    await assertCleanAudit(book)
  }

  private async balance(id: string): Promise<number> {
    return (await scalar<number | undefined>(book.pool, 'SELECT balance FROM ledger_accounts WHERE id = $1', [id])) ?? 0
  }

  /** What control gives back that a dead one took. */
  private async giveBackLeft(accountId: string): Promise<void> {
    const keeper = debitKeeper({ ...book, log, debits, limits })
    const isEmpty = async () => (await book.redis.hlen(debitsKey(shardOf(accountId)))) === 0
    await until('what was left behind is given back', isEmpty).finally(() => keeper.stop())
  }
}

const coinUsdUnits = UNITS_PER_USD
const throwIt = (error: unknown): never => {
  throw error
}

test('after orders, cancels, crashes and losses of Redis, coin and tokens equal those of the model', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 25 }), async (steps) => {
      const world = await World.start()
      for (const one of steps) {
        if (one.kind === 'cancel') await world.cancel(one.place)
        else if (one.kind === 'lose Redis') await world.loseRedis()
        else await world.order(one)
        await dispatchEvents(book)
      }
      await world.check()
      await world.end()
      await world.check()
    }),
    { numRuns: rounds({ short: 2, long: 100 }) },
  )
})

test('the audit finds escrow, fills and books that disagree with the orders', async () => {
  const world = await World.start()
  const bid = { kind: 'order', account: 0, side: 'buy', lots: 2, isMarket: false } as const
  await world.order({ ...bid, ticks: 1 })
  await world.order({ ...bid, ticks: 4 })
  await world.check()
  const faults = [
    ['UPDATE lock_orders SET escrow_nanos = escrow_nanos + $1', 'escrow of locks equals their open orders'],
    ['UPDATE lock_orders SET price_nanos = price_nanos + 3000 * $1', 'no book of locks is crossed'],
    [
      'UPDATE lock_series SET supply_micros = supply_micros + 1000 * $1',
      'tokens of every series are held, in escrow, on the chain or burnt',
    ],
  ] as const
  for (const [change, name] of faults) {
    const where = change.includes('lock_orders') ? ` WHERE status = 'open' AND side = 'buy'` : ''
    await book.pool.query(change + where, [1])
    const failed = (await auditBook(book.pool, limits)).filter(({ ok }) => !ok).map((check) => check.name)
    assert.ok(failed.includes(name), `${name}: found ${failed.join(', ')}`)
    await book.pool.query(change + where, [-1])
  }
  await world.check()
})
