import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import type { Spender } from '../../book/ledger/spender.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { LocksLimits } from './limits.ts'
import { applyEvent, type BookChange, type Fill, type Side } from './orderBook.ts'
import { frontOrders } from './orderStore.ts'
import type { LockSeries } from './series.ts'
import { feeOf } from './tradeAmounts.ts'

/** An order as it is asked for. */
export interface WantedOrder {
  readonly accountId: string
  readonly side: Side
  /** Nanos of coin per whole token; undefined for a market order. */
  readonly priceNanos: number | undefined
  readonly micros: number
  /** The most that it may cost with fees, in nanos, all of it filled; of a quote. */
  readonly costMaxNanos?: number
  readonly spender?: Spender
}

/** The result of matching an order. */
export interface Matched {
  readonly fills: readonly Fill[]
  readonly feesNanos: readonly number[]
  readonly costNanos: number
  readonly feeNanos: number
  readonly filledMicros: number
  /** The part that rests in the book. */
  readonly restMicros: number
}

/**
 * Matches an order against the open orders of its series.
 * @throws GatewayError lock_no_offer, lock_self_trade; lock_price_moved where it costs more than costMaxNanos, or is not all
 *   filled; invalid_request
 */
export async function matchOrder(
  client: Queryable,
  series: LockSeries,
  id: string,
  wanted: WantedOrder,
  limits: LocksLimits,
): Promise<Matched> {
  const fillsMax = limits.lockFillsPerOrderMax
  const other = wanted.side === 'buy' ? 'sell' : 'buy'
  const opposite = await frontOrders(client, series.id, other, wanted, fillsMax + 1)
  const book = wanted.side === 'buy' ? { bids: [], asks: opposite } : { bids: opposite, asks: [] }
  // After all that rest: its place in time is drawn when it is written.
  const order = { id, place: Number.MAX_SAFE_INTEGER, ...wanted }
  const { changes } = inBounds(() => applyEvent(book, { kind: 'place', order, fillsMax }))
  const refused = changes.find((change) => change.kind === 'refused')
  if (refused !== undefined) throw refusalOf(refused, wanted)
  const fills = changes.filter((change) => change.kind === 'filled')
  const feesNanos = fills.map(({ costNanos }) => feeOf(costNanos, series.takerFeePpm))
  const rested = changes.find((change) => change.kind === 'rested')
  const matched = {
    fills,
    feesNanos,
    costNanos: sumOf(fills.map(({ costNanos }) => costNanos)),
    feeNanos: sumOf(feesNanos),
    filledMicros: sumOf(fills.map(({ micros }) => micros)),
    restMicros: rested?.order.micros ?? 0,
  }
  const { costMaxNanos } = wanted
  const isDearer = costMaxNanos !== undefined && matched.costNanos + matched.feeNanos > costMaxNanos
  if (isDearer || (costMaxNanos !== undefined && matched.filledMicros < wanted.micros)) {
    throw new GatewayError('lock_price_moved')
  }
  return matched
}

/** Runs `work`. Amounts beyond what an account can hold are the client's fault. */
export function inBounds<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof RangeError ? tooLarge() : error
  }
}

/** For amounts that cannot be booked. */
export function tooLarge(): GatewayError {
  return invalidRequest('This order is for more than an account can hold; order less.', 'tokens')
}

function refusalOf({ reason }: Extract<BookChange, { kind: 'refused' }>, { priceNanos }: WantedOrder): GatewayError {
  if (reason === 'self_trade') return new GatewayError('lock_self_trade')
  const message = 'What is offered at this price cannot be sold now; order at market, or at a lower price.'
  return new GatewayError('lock_no_offer', priceNanos === undefined ? {} : { message })
}

function sumOf(amounts: readonly number[]): number {
  return amounts.reduce((sum, amount) => sum + amount, 0)
}
