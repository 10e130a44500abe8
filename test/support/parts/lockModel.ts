import {
  applyEvent,
  type BookChange,
  type BookEvent,
  type OrderBook,
  type RestingOrder,
  type Side,
} from '../../../control/products/locks/orderBook.ts'
import { costOf, feeOf } from '../../../control/products/locks/tradeAmounts.ts'

interface Wanted {
  readonly accountId: string
  readonly side: Side
  readonly priceNanos: number | undefined
  readonly micros: number
}

/** What accounts have of coin and of the tokens of one series, by what was done: the matching engine over sums in memory. */
export class LockModel {
  /** What is free, by account. */
  readonly nanos = new Map<string, number>()
  readonly micros = new Map<string, number>()
  book: OrderBook
  private readonly feePpm: number
  private readonly fillsMax: number

  constructor(first: RestingOrder, feePpm: number, fillsMax: number) {
    this.book = first.side === 'buy' ? { bids: [first], asks: [] } : { bids: [], asks: [first] }
    this.feePpm = feePpm
    this.fillsMax = fillsMax
  }

  /** Does what an order does that is taken. */
  place(wanted: Wanted, id: string, place: number): void {
    this.apply({ kind: 'place', order: { ...wanted, id, place }, fillsMax: this.fillsMax })
  }

  /** How an order is to end: its code when it is refused, else what it costs. */
  expected(wanted: Wanted) {
    const { changes } = applyEvent(this.book, {
      kind: 'place',
      order: { ...wanted, id: '', place: Number.MAX_SAFE_INTEGER },
      fillsMax: this.fillsMax,
    })
    const refused = changes.find((change) => change.kind === 'refused')
    if (refused !== undefined) return `lock_${refused.reason}`
    const fills = changes.filter((change) => change.kind === 'filled')
    const rest = changes.find((change) => change.kind === 'rested')?.order.micros ?? 0
    const filled = fills.reduce((sum, { micros }) => sum + micros, 0)
    const { accountId, side, priceNanos = 0 } = wanted
    const cost = fills.reduce((sum, { costNanos }) => sum + costNanos + feeOf(costNanos, this.feePpm), 0)
    const isCovered =
      side === 'sell'
        ? filled + rest <= (this.micros.get(accountId) ?? 0)
        : cost + (rest === 0 ? 0 : costOf(priceNanos, rest)) <= (this.nanos.get(accountId) ?? 0)
    return isCovered ? changes : 'insufficient_balance'
  }

  apply(event: BookEvent): void {
    const open = new Map([...this.book.bids, ...this.book.asks].map((one) => [one.id, one]))
    const { book: after, changes } = applyEvent(this.book, event)
    this.book = after
    for (const change of changes) this.applyChange(change, event, open)
  }

  private applyChange(change: BookChange, event: BookEvent, open: ReadonlyMap<string, RestingOrder>): void {
    if (change.kind === 'filled') {
      const { maker, taker, micros, costNanos } = change
      const fee = feeOf(costNanos, this.feePpm)
      const [buyer, seller] =
        taker.side === 'buy' ? [taker.accountId, maker.accountId] : [maker.accountId, taker.accountId]
      // What a maker pays with is in escrow already.
      if (taker.side === 'buy') this.move(this.nanos, buyer, -costNanos - fee)
      else this.move(this.micros, seller, -micros)
      this.move(this.nanos, seller, taker.side === 'buy' ? costNanos : costNanos - fee)
      this.move(this.micros, buyer, micros)
    } else if (change.kind === 'rested') {
      const { accountId, side, priceNanos, micros } = change.order
      if (side === 'buy') this.move(this.nanos, accountId, -costOf(priceNanos, micros))
      else this.move(this.micros, accountId, -micros)
    } else if (change.kind === 'ended' && event.kind !== 'place') {
      const ended = open.get(change.orderId)
      if (ended === undefined) return
      if (ended.side === 'buy') this.move(this.nanos, ended.accountId, costOf(ended.priceNanos, change.micros))
      else this.move(this.micros, ended.accountId, change.micros)
    }
  }

  private move(amounts: Map<string, number>, accountId: string, amount: number): void {
    amounts.set(accountId, (amounts.get(accountId) ?? 0) + amount)
  }
}
