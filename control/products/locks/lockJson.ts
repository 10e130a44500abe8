import { coinDecimal } from '../../../contract/money/coin.ts'
import { formatTokens } from '../../../contract/money/lockTokens.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import { coinAmount, coinAmountJson } from '../../catalog/pricing/coinAmounts.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { Holding, LockUse } from './holdings.ts'
import type { LocksLimits } from './limits.ts'
import type { Fill, Side } from './orderBook.ts'
import type { LockOrder } from './orderStore.ts'
import type { LockSeries } from './series.ts'
import { LOT_MICROS, TICK_NANOS, tokensOfUnits } from './tradeAmounts.ts'

/** The rules of all series. */
export function rulesJson(limits: LocksLimits) {
  return {
    token: 'One whole token is one million tokens of its model at the locked price until the month ends.',
    lot: formatTokens(LOT_MICROS),
    limit_order_usd_min: formatUsd(limits.lockOrderUnitsMin),
    tick: coinDecimal(TICK_NANOS),
    priority: 'price, then time',
    self_trade: 'An order that would fill an order of the same account is refused.',
    market_order: 'Fills immediately against the offers; the remainder is cancelled.',
    month_end: 'Open orders expire, coin in escrow comes back, and tokens that are left burn.',
    quote_seconds: Math.floor(limits.lockQuoteMs / 1_000),
    orders_open_max: limits.lockOrdersOpenMax,
    series_per_account_max: limits.lockSeriesPerAccountMax,
    fills_per_order_max: limits.lockFillsPerOrderMax,
    withdrawal_tokens_min: formatTokens(limits.lockWithdrawalMicrosMin),
    withdrawal_ends_before_seconds: limits.lockWithdrawalCutoffMs / 1_000,
  }
}

/** Of an open series that the catalog in force cannot serve it is `unavailable`. */
function stateOf({ state, unavailable }: LockSeries) {
  return state === 'open' && unavailable !== '' ? ('unavailable' as const) : state
}

/** A series as everybody sees it. */
export function seriesJson(series: LockSeries) {
  return {
    object: 'lock_series' as const,
    id: series.id,
    model: series.model,
    month: series.month,
    ends_at: new Date(series.endsAtMs).toISOString(),
    state: stateOf(series),
    ...(series.unavailable !== '' && { unavailable: series.unavailable }),
    provider: series.provider,
    locked_price: { units: String(series.lockedPriceUnits), usd: formatUsd(series.lockedPriceUnits) },
    price: series.price,
    supply: formatTokens(series.supplyMicros),
    taker_fee_ppm: series.takerFeePpm,
  }
}

interface LevelRow {
  readonly side: Side
  readonly price_nanos: number
  readonly token_micros: number
}

/** Bids and asks of a series, by price, the best first. */
export async function bookJson(db: Queryable, seriesId: string, limits: LocksLimits) {
  const side = async (which: Side) => {
    const found = await db.query<LevelRow>(
      `SELECT side, price_nanos, sum(token_micros - filled_micros)::bigint AS token_micros FROM lock_orders
       WHERE series_id = $1 AND status = 'open' AND side = '${which}' GROUP BY side, price_nanos
       ORDER BY price_nanos ${which === 'buy' ? 'DESC' : 'ASC'} LIMIT $2`,
      [seriesId, limits.lockBookLevelsMax],
    )
    return found.rows.map((row) => levelJson(row.price_nanos, row.token_micros))
  }
  return { bids: await side('buy'), asks: await side('sell') }
}

/** The first prices of fills, which are in the order of their prices. */
export function levelsOf(fills: readonly Fill[], most: number) {
  const levels = new Map<number, number>()
  for (const { priceNanos, micros } of fills) levels.set(priceNanos, (levels.get(priceNanos) ?? 0) + micros)
  return [...levels].slice(0, most).map(([priceNanos, micros]) => levelJson(priceNanos, micros))
}

/** Tokens at one price. */
function levelJson(priceNanos: number, micros: number) {
  return { price: coinDecimal(priceNanos), tokens: formatTokens(micros) }
}

/** An order as its owner sees it. @param costs of its fills so far */
export function orderJson(
  order: LockOrder,
  { costNanos, feeNanos }: { readonly costNanos: number; readonly feeNanos: number },
  coinUsdUnits: number,
) {
  const amount = (nanos: number) => coinAmountJson(coinAmount(nanos, coinUsdUnits))
  return {
    object: 'lock_order' as const,
    id: order.id,
    series: order.seriesId,
    side: order.side,
    type: order.priceNanos === null ? ('market' as const) : ('limit' as const),
    price: order.priceNanos === null ? null : coinDecimal(order.priceNanos),
    tokens: formatTokens(order.micros),
    filled: formatTokens(order.filledMicros),
    status: order.status,
    cost: amount(costNanos),
    fee: amount(feeNanos),
    in_escrow: { coin: coinDecimal(order.escrowNanos), tokens: formatTokens(order.escrowMicros) },
    created_at: new Date(order.createdAtMs).toISOString(),
    ended_at: order.endedAtMs === null ? null : new Date(order.endedAtMs).toISOString(),
  }
}

/** Tokens that an account holds; those in open orders are not among them. */
export function holdingJson({ units }: Holding, series: LockSeries) {
  return {
    series: series.id,
    model: series.model,
    month: series.month,
    expires_at: new Date(series.endsAtMs).toISOString(),
    state: stateOf(series),
    tokens: formatTokens(tokensOfUnits(units, series.lockedPriceUnits)),
    units: String(units),
  }
}

/** A request that burnt tokens. */
export function useJson({ requestId, units, atMs }: LockUse, series: LockSeries) {
  return {
    request_id: requestId,
    series: series.id,
    tokens: formatTokens(tokensOfUnits(units, series.lockedPriceUnits)),
    units: String(units),
    at: new Date(atMs).toISOString(),
  }
}
