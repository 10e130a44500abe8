import { costOf } from './tradeAmounts.ts'

export type Side = 'buy' | 'sell'

/** An order that waits in the book. */
export interface RestingOrder {
  readonly id: string
  readonly accountId: string
  readonly side: Side
  /** Nanos of coin per whole token. */
  readonly priceNanos: number
  /** Time priority: the lower one came first. */
  readonly place: number
  /** Micro-tokens that are not filled. */
  readonly micros: number
  /** The most that its account can be credited for what it sells, in nanos; absent where that has no bound. */
  readonly roomNanos?: number
}

/** An order that comes in. Without a price it is a market order: it fills immediately or not at all, and never rests. */
export interface IncomingOrder extends Omit<RestingOrder, 'priceNanos' | 'roomNanos'> {
  readonly priceNanos: number | undefined
}

/** Open orders of one series, each side in its order: best price first, then the earlier order. */
export interface OrderBook {
  readonly bids: readonly RestingOrder[]
  readonly asks: readonly RestingOrder[]
}

export type BookEvent =
  /** @param fillsMax resting orders that it may fill; the remainder is cancelled */
  | { readonly kind: 'place'; readonly order: IncomingOrder; readonly fillsMax: number }
  | { readonly kind: 'cancel'; readonly orderId: string }
  /** The series ends, and all open orders with it. */
  | { readonly kind: 'expire' }

export interface Fill {
  readonly kind: 'filled'
  readonly maker: RestingOrder
  readonly taker: IncomingOrder
  /** The price of the maker. */
  readonly priceNanos: number
  readonly micros: number
  readonly costNanos: number
}

/** The effects of an event, in order. */
export type BookChange =
  | Fill
  | { readonly kind: 'rested'; readonly order: RestingOrder }
  /** An order is over; `micros` of it were not filled. */
  | {
      readonly kind: 'ended'
      readonly orderId: string
      readonly micros: number
      readonly status: 'filled' | 'cancelled' | 'expired'
    }
  /** Nothing is changed: it would fill an order of its own account, nothing that can be filled is offered, or there is no such order. */
  | { readonly kind: 'refused'; readonly reason: 'self_trade' | 'no_offer' | 'no_order' }

export interface BookStep {
  readonly book: OrderBook
  readonly changes: readonly BookChange[]
}

/** Whether `one` is served before `other`; both are of one side. */
function comparePriority(one: RestingOrder, other: RestingOrder): number {
  const byPrice = one.side === 'buy' ? other.priceNanos - one.priceNanos : one.priceNanos - other.priceNanos
  return byPrice === 0 ? one.place - other.place : byPrice
}

/**
 * The matching engine: what an event does to a book, and the book afterwards. Price-time priority; trades are at the price
 * of the resting order. The same book and event give the same answer, and the given book is not changed.
 */
export function applyEvent(book: OrderBook, event: BookEvent): BookStep {
  if (event.kind === 'place') return place(book, event.order, event.fillsMax)
  if (event.kind === 'cancel') return cancel(book, event.orderId)
  const open = [...book.bids, ...book.asks].sort((one, other) => one.place - other.place)
  return { book: { bids: [], asks: [] }, changes: open.map((order) => endOf(order, 'expired')) }
}

function place(book: OrderBook, order: IncomingOrder, fillsMax: number): BookStep {
  const isBuy = order.side === 'buy'
  const opposite = isBuy ? book.asks : book.bids
  const { fills, left, isCrossing } = fillsOf(opposite, order, fillsMax)
  if (fills.some(({ maker }) => maker.accountId === order.accountId)) return refused(book, 'self_trade')
  if (fills.length === 0 && (order.priceNanos === undefined || isCrossing)) return refused(book, 'no_offer')

  const changes: BookChange[] = []
  for (const fill of fills) {
    changes.push(fill)
    if (fill.micros === fill.maker.micros) changes.push(endOf({ id: fill.maker.id, micros: 0 }, 'filled'))
  }
  const rest = restOf(opposite, fills)
  const crossed: OrderBook = isBuy ? { ...book, asks: rest } : { ...book, bids: rest }
  if (left === 0) return { book: crossed, changes: [...changes, endOf({ id: order.id, micros: 0 }, 'filled')] }
  if (order.priceNanos === undefined || isCrossing) {
    return { book: crossed, changes: [...changes, endOf({ id: order.id, micros: left }, 'cancelled')] }
  }
  const resting: RestingOrder = { ...order, priceNanos: order.priceNanos, micros: left }
  const own = isBuy ? crossed.bids : crossed.asks
  const withOrder = [...own, resting].sort(comparePriority)
  const after: OrderBook = isBuy ? { ...crossed, bids: withOrder } : { ...crossed, asks: withOrder }
  return { book: after, changes: [...changes, { kind: 'rested', order: resting }] }
}

/**
 * Fills of the best orders of the other side; the remainder, and whether one that it crosses is left: beyond the most of fills, or
 * passed over because its account is too full for its coin.
 */
function fillsOf(opposite: readonly RestingOrder[], order: IncomingOrder, fillsMax: number) {
  const fills: Fill[] = []
  const rooms = new Map<string, number>()
  let left = order.micros
  let isCrossing = false
  for (const maker of opposite) {
    if (left === 0 || !crosses(order, maker.priceNanos)) break
    if (fills.length === fillsMax) return { fills, left, isCrossing: true }
    const micros = Math.min(left, maker.micros)
    const { accountId, priceNanos } = maker
    const costNanos = costOf(priceNanos, micros)
    const room = rooms.get(accountId) ?? maker.roomNanos ?? Number.POSITIVE_INFINITY
    if (costNanos > room) {
      isCrossing = true
      continue
    }
    rooms.set(accountId, room - costNanos)
    fills.push({ kind: 'filled', maker, taker: order, priceNanos, micros, costNanos })
    left -= micros
  }
  return { fills, left, isCrossing }
}

function crosses({ side, priceNanos }: IncomingOrder, otherNanos: number): boolean {
  if (priceNanos === undefined) return true
  return side === 'buy' ? otherNanos <= priceNanos : otherNanos >= priceNanos
}

/** The orders of a side without what was filled of them. */
function restOf(opposite: readonly RestingOrder[], fills: readonly Fill[]): RestingOrder[] {
  const filled = new Map(fills.map(({ maker, micros }) => [maker.id, micros]))
  return opposite.flatMap((order) => {
    const micros = order.micros - (filled.get(order.id) ?? 0)
    if (micros === order.micros) return [order]
    return micros === 0 ? [] : [{ ...order, micros }]
  })
}

function cancel(book: OrderBook, orderId: string): BookStep {
  const found = [...book.bids, ...book.asks].find(({ id }) => id === orderId)
  if (found === undefined) return refused(book, 'no_order')
  const without = (orders: readonly RestingOrder[]) => orders.filter(({ id }) => id !== orderId)
  return { book: { bids: without(book.bids), asks: without(book.asks) }, changes: [endOf(found, 'cancelled')] }
}

function endOf({ id, micros }: Pick<RestingOrder, 'id' | 'micros'>, status: 'filled' | 'cancelled' | 'expired') {
  return { kind: 'ended', orderId: id, micros, status } as const
}

function refused(book: OrderBook, reason: 'self_trade' | 'no_offer' | 'no_order'): BookStep {
  return { book, changes: [{ kind: 'refused', reason }] }
}
