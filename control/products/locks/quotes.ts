import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { formatTokens } from '../../../contract/money/lockTokens.ts'
import { newId } from '../../../contract/wire/ids.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { LocksLimits } from './limits.ts'
import { type Matched, matchOrder } from './matchOrder.ts'
import { fillableMicros } from './orderStore.ts'
import type { LockSeries } from './series.ts'

export interface LockQuote {
  readonly id: string
  readonly matched: Matched
  /** The amount that a market order of the account could buy now. */
  readonly fillableMicros: number
  readonly validUntilMs: number
}

/**
 * Prices a buy at market of all these tokens, and remembers the price. Tokens are not set aside for it.
 * @throws GatewayError lock_no_offer, lock_self_trade
 */
export async function quoteBuy(
  client: Client,
  series: LockSeries,
  accountId: string,
  micros: number,
  limits: LocksLimits,
): Promise<LockQuote> {
  const id = newId('lqt')
  const wanted = { accountId, side: 'buy', priceNanos: undefined, micros } as const
  const matched = await matchOrder(client, series, id, wanted, limits)
  const fillable = await fillableMicros(client, series.id, 'sell', wanted, limits.lockFillsPerOrderMax)
  if (matched.filledMicros < micros) {
    const message = `One order can buy ${formatTokens(fillable)} tokens of this series now; order at most these, or place a limit order.`
    throw new GatewayError('lock_no_offer', { message, param: 'tokens' })
  }
  const validUntilMs = Math.min(Date.now() + limits.lockQuoteMs, series.endsAtMs)
  await client.query(
    `INSERT INTO lock_quotes (id, series_id, account_id, token_micros, cost_nanos, fee_nanos, valid_until)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [id, series.id, accountId, micros, matched.costNanos, matched.feeNanos, new Date(validUntilMs)],
  )
  return { id, matched, fillableMicros: fillable, validUntilMs }
}

/**
 * Takes the quote of a buy, which serves one order: an order that is sent again without an Idempotency-Key must not buy twice.
 * The quote remains when the caller's transaction fails.
 * @returns the most that the buy may cost, with fees, in nanos
 * @throws GatewayError lock_quote_not_found where it is another account's, or used; invalid_request for another series or number
 *   of tokens; lock_price_moved once it holds no more
 */
export async function takeQuote(
  client: Client,
  id: string,
  bought: { readonly accountId: string; readonly seriesId: string; readonly micros: number },
): Promise<number> {
  const found = await client.query<{ nanos: number; micros: number; series_id: string; is_over: boolean }>(
    `DELETE FROM lock_quotes WHERE id = $1 AND account_id = $2
     RETURNING cost_nanos + fee_nanos AS nanos, token_micros AS micros, series_id, valid_until <= now() AS is_over`,
    [id, bought.accountId],
  )
  const [quote] = found.rows
  if (quote === undefined) throw new GatewayError('lock_quote_not_found', { param: 'quote' })
  if (quote.series_id !== bought.seriesId || quote.micros !== bought.micros) {
    const message = `The quote is for ${formatTokens(quote.micros)} tokens of ${quote.series_id}; order these, or request another quote.`
    throw invalidRequest(message, 'quote')
  }
  if (quote.is_over) throw new GatewayError('lock_price_moved', { param: 'quote' })
  return quote.nanos
}
