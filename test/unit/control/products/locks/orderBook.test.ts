// Goal: the matching engine against a reference that sorts all open orders anew for each event and fills one lot after the
// other. Tokens and coin are conserved, no crossed book is left, and priority is price, then time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  applyEvent,
  type BookChange,
  type BookEvent,
  type OrderBook,
  type RestingOrder,
} from '../../../../../control/products/locks/orderBook.ts'
import { costOf, feeOf, LOT_MICROS, TICK_NANOS } from '../../../../../control/products/locks/tradeAmounts.ts'
import { rounds } from '../../../../support/rounds.ts'

const EMPTY: OrderBook = { bids: [], asks: [] }
const ACCOUNTS = ['a', 'b', 'c', 'd']

interface Open {
  readonly id: string
  readonly account: string
  readonly side: 'buy' | 'sell'
  readonly price: number
  readonly place: number
  lots: number
}

/** One lot filled: who gave it, who got it, at which price. */
type LotFill = readonly [maker: string, taker: string, price: number]

/** Sort and fill, lot by lot. */
class Reference {
  open: Open[] = []

  best(side: 'buy' | 'sell'): Open | undefined {
    const sign = side === 'buy' ? -1 : 1
    return this.open
      .filter((order) => order.side === side && order.lots > 0)
      .sort((one, other) => sign * (one.price - other.price) || one.place - other.place)[0]
  }

  /** @returns lot by lot what fills, or why it is refused */
  place(order: Open, isMarket: boolean, fillsMax: number): readonly LotFill[] | string {
    const before = this.open.map((other) => ({ ...other }))
    const other = order.side === 'buy' ? 'sell' : 'buy'
    const fills: LotFill[] = []
    const makers = new Set<string>()
    let isStopped = false
    while (order.lots > 0) {
      const maker = this.best(other)
      if (maker === undefined) break
      if (!isMarket && (order.side === 'buy' ? maker.price > order.price : maker.price < order.price)) break
      if (!makers.has(maker.id) && makers.size === fillsMax) {
        isStopped = true
        break
      }
      makers.add(maker.id)
      if (maker.account === order.account) {
        this.open = before
        return 'self_trade'
      }
      fills.push([maker.id, order.id, maker.price])
      maker.lots--
      order.lots--
    }
    if (isMarket && fills.length === 0) return 'no_offer'
    if (order.lots > 0 && !isMarket && !isStopped) this.open.push(order)
    this.open = this.open.filter(({ lots }) => lots > 0)
    return fills
  }
}

const placed = fc.record({
  account: fc.constantFrom(...ACCOUNTS),
  side: fc.constantFrom('buy' as const, 'sell' as const),
  price: fc.integer({ min: 1, max: 6 }),
  lots: fc.integer({ min: 1, max: 12 }),
  isMarket: fc.boolean(),
  fillsMax: fc.integer({ min: 1, max: 4 }),
})
const step = fc.oneof({ weight: 8, arbitrary: placed }, fc.record({ cancel: fc.nat(30) }))

const openOf = ({ bids, asks }: OrderBook): readonly RestingOrder[] => [...bids, ...asks]

/** The fills of changes, lot by lot. */
function lotFills(changes: readonly BookChange[]): LotFill[] {
  return changes.flatMap((change) => {
    if (change.kind !== 'filled') return []
    assert.equal(change.costNanos, costOf(change.priceNanos, change.micros))
    const lot: LotFill = [change.maker.id, change.taker.id, change.priceNanos / TICK_NANOS]
    return Array.from({ length: change.micros / LOT_MICROS }, () => lot)
  })
}

function compare(book: OrderBook, reference: Reference): void {
  const asLots = openOf(book).map(({ id, micros }) => [id, micros / LOT_MICROS] as const)
  const expected = reference.open.map(({ id, lots }) => [id, lots] as const)
  assert.deepEqual(new Map(asLots), new Map(expected))
  const [bid, ask] = [book.bids[0], book.asks[0]]
  if (bid !== undefined && ask !== undefined) assert.ok(bid.priceNanos < ask.priceNanos, 'a crossed book is left')
  assert.equal(bid?.id, reference.best('buy')?.id)
  assert.equal(ask?.id, reference.best('sell')?.id)
}

test('matching equals sort and fill, conserves tokens, and leaves no crossed book', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const reference = new Reference()
      let book = EMPTY
      for (const [place, one] of steps.entries()) {
        const id = `order ${place}`
        const before = JSON.stringify(book)
        const heldLots = openOf(book).reduce((sum, { micros }) => sum + micros / LOT_MICROS, 0)
        if ('cancel' in one) {
          const { book: after, changes } = applyEvent(book, { kind: 'cancel', orderId: `order ${one.cancel}` })
          const wasOpen = reference.open.some((order) => order.id === `order ${one.cancel}`)
          assert.equal(changes[0]?.kind, wasOpen ? 'ended' : 'refused')
          reference.open = reference.open.filter((order) => order.id !== `order ${one.cancel}`)
          book = after
          compare(book, reference)
          continue
        }
        const { account, side, lots, isMarket, fillsMax } = one
        const price = isMarket ? undefined : one.price * TICK_NANOS
        const order = { id, accountId: account, side, priceNanos: price, place, micros: lots * LOT_MICROS }
        const event: BookEvent = { kind: 'place', order, fillsMax }
        const { book: after, changes } = applyEvent(book, event)
        assert.equal(JSON.stringify(book), before, 'the given book was changed')
        assert.deepEqual(applyEvent(book, event), { book: after, changes })
        const expected = reference.place({ id, account, side, price: one.price, place, lots }, isMarket, fillsMax)
        if (typeof expected === 'string') {
          assert.deepEqual(changes, [{ kind: 'refused', reason: expected }])
        } else {
          assert.deepEqual(lotFills(changes), expected)
          const ended = changes.find((change) => change.kind === 'ended' && change.orderId === id)
          const leftLots = ended?.kind === 'ended' ? ended.micros / LOT_MICROS : 0
          const nowLots = openOf(after).reduce((sum, { micros }) => sum + micros / LOT_MICROS, 0)
          // Both sides of a fill leave the book; what is not filled rests or is cancelled.
          assert.equal(heldLots + lots, nowLots + leftLots + 2 * expected.length)
        }
        book = after
        compare(book, reference)
      }
      const expiry = applyEvent(book, { kind: 'expire' })
      assert.deepEqual(expiry.book, EMPTY)
      assert.equal(expiry.changes.length, openOf(book).length)
    }),
    { numRuns: rounds({ short: 150, long: 5_000 }) },
  )
})

test('costs are whole nanos at every lot and tick, and fees round up', () => {
  const ticks = fc.integer({ min: 1, max: 1_000_000_000 })
  const lots = fc.integer({ min: 1, max: 1_000_000 })
  fc.assert(
    fc.property(ticks, lots, fc.nat(100_000), (tick, lot, ppm) => {
      const cost = costOf(tick * TICK_NANOS, lot * LOT_MICROS)
      assert.equal(BigInt(cost) * 1_000_000n, BigInt(tick * TICK_NANOS) * BigInt(lot * LOT_MICROS))
      const fee = BigInt(feeOf(cost, ppm)) * 1_000_000n
      assert.ok(fee >= BigInt(cost) * BigInt(ppm) && fee - BigInt(cost) * BigInt(ppm) < 1_000_000n)
    }),
    { numRuns: rounds({ short: 100, long: 5_000 }) },
  )
  assert.throws(() => costOf(9e15, 9e12), RangeError)
})
