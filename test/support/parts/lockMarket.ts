import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { Debits } from '../../../control/admission/debits/debit.ts'
import { LOCK_OPERATOR } from '../../../control/book/ledger/accounts.ts'
import type { Spender } from '../../../control/book/ledger/spender.ts'
import { type Booked, bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { issueSeries } from '../../../control/products/locks/issueSeries.ts'
import { type PlacedOrder, placeOrder } from '../../../control/products/locks/placeOrder.ts'
import type { LockSeries } from '../../../control/products/locks/series.ts'
import { OPERATOR } from '../../../control/runtime/activity/activity.ts'
import { type UndoableTransaction, withUndo } from '../../../control/runtime/db/undoable.ts'
import { ledgerLimits } from '../limits.ts'
import { batchOf, endedOf, type TestEnding } from './endings.ts'
import { type Book, fundedAccount } from './ledger.ts'

/** Orders of a lot are enough here. */
const limits = { ...ledgerLimits, lockOrderUnitsMin: 0 }
export const MICROS_PER_TOKEN = 1_000_000
/** Of a whole token, and of a micro-token. */
const PRICE_UNITS = 1_000_000_000
export const MICRO_UNITS = 1_000
/** Of a whole token, as the operator offers it. */
export const OFFER_NANOS = 120_000_000
export const SUPPLY_MICROS = 1_000 * MICROS_PER_TOKEN
/** What a buyer of a test has bought. */
export const SOLD_MICROS = 10 * MICROS_PER_TOKEN

interface TestOrder {
  readonly accountId: string
  readonly side: 'buy' | 'sell'
  readonly micros: number
  readonly priceNanos?: number
  readonly spender?: Spender
}

/** The market of compute locks over a book, and the booking of requests that burn its tokens. A coin is one US dollar. */
export class LockMarket {
  readonly book: Book
  readonly debits: Debits
  /** The last entry of each shard. */
  private readonly entries = new Map<number, number>()

  constructor(book: Book) {
    this.book = book
    this.debits = new Debits(book.pool, book.redis, limits)
  }

  /** A series whose supply the operator offers, as the command line issues it. */
  issue(): Promise<LockSeries> {
    const price = { input: '0.5', output: '1' }
    const made = { model: 'acme/chat-small', month: '2099-01', provider: 'acme', price, takerFeePpm: 10_000 }
    const priced = { ...made, lockedPriceUnits: PRICE_UNITS, supplyMicros: SUPPLY_MICROS }
    return this.inUndoable(async (transaction) => {
      const series = await issueSeries(transaction.client, priced, limits)
      await this.place(transaction, series, { accountId: LOCK_OPERATOR, side: 'sell', micros: SUPPLY_MICROS })
      return series
    })
  }

  /** Places an order, at the operator's price if it names none. */
  trade(series: LockSeries, order: TestOrder): Promise<PlacedOrder> {
    return this.inUndoable((transaction) => this.place(transaction, series, order))
  }

  /** An account that has bought tokens of the operator. */
  async buyer(series: LockSeries, nanos: number = 11 * OFFER_NANOS): Promise<string> {
    const accountId = await fundedAccount(this.book, nanos)
    await this.trade(series, { accountId, side: 'buy', micros: SOLD_MICROS })
    return accountId
  }

  /** Books endings in one batch. */
  settle(...endings: TestEnding[]): Promise<Booked> {
    const raws = endings.map((ending) => {
      const shard = shardOf(ending.accountId)
      const entry = (this.entries.get(shard) ?? 0) + 1
      this.entries.set(shard, entry)
      return { shard, id: `${entry}-1`, fields: [Buffer.from('b'), batchOf(newId('own'), 1, [endedOf(ending)])] }
    })
    return bookEntries(this.book.pool, parseEntries(raws))
  }

  inUndoable<T>(work: (transaction: UndoableTransaction) => Promise<T>): Promise<T> {
    return withUndo(this.book.pool, () => undefined, work)
  }

  private place(transaction: UndoableTransaction, series: LockSeries, order: TestOrder): Promise<PlacedOrder> {
    const wanted = { priceNanos: OFFER_NANOS, ...order }
    return placeOrder(transaction, this.debits, OPERATOR, { series, wanted, coinUsdUnits: PRICE_UNITS }, limits)
  }
}

/** The ending of a request that burns tokens and is charged nothing beside. */
export function burnt(series: LockSeries, accountId: string, units: number): TestEnding {
  const lock = { lockSeries: series.id, lockUnits: units, lockMicros: units / MICRO_UNITS, holdUnits: units }
  return { accountId, charge: 0, split: `${series.id}=${units}`, settlement: lock }
}
