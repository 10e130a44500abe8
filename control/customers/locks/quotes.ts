import { GatewayError } from '../../../contract/errors/errors.ts'
import { newId } from '../../../contract/wire/ids.ts'
import type { Limits } from '../../limits.ts'
import type { Client } from '../../runtime/db/pool.ts'
import { type Matched, matchOrder } from './matchOrder.ts'
import type { LockSeries } from './series.ts'

export interface LockQuote {
  readonly id: string
  readonly matched: Matched
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
  limits: Limits,
): Promise<LockQuote> {
  const id = newId('lqt')
  const wanted = { accountId, side: 'buy', priceNanos: undefined, micros } as const
  const matched = await matchOrder(client, series, id, wanted, limits)
  if (matched.filledMicros < micros) throw new GatewayError('lock_no_offer')
  const validUntilMs = Math.min(Date.now() + limits.lockQuoteMs, series.endsAtMs)
  await client.query(
    `INSERT INTO lock_quotes (id, series_id, account_id, token_micros, cost_nanos, fee_nanos, valid_until)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [id, series.id, accountId, micros, matched.costNanos, matched.feeNanos, new Date(validUntilMs)],
  )
  return { id, matched, validUntilMs }
}

/**
 * The most that a buy may cost by a quote, with fees, in nanos.
 * @throws GatewayError lock_quote_not_found where it is of another account, series or number of tokens; lock_price_moved once
 *   it holds no more
 */
export async function quotedCost(
  client: Client,
  id: string,
  bought: { readonly accountId: string; readonly seriesId: string; readonly micros: number },
): Promise<number> {
  const found = await client.query<{ nanos: number; is_over: boolean }>(
    `SELECT cost_nanos + fee_nanos AS nanos, valid_until <= now() AS is_over FROM lock_quotes
     WHERE id = $1 AND account_id = $2 AND series_id = $3 AND token_micros = $4`,
    [id, bought.accountId, bought.seriesId, bought.micros],
  )
  const [quote] = found.rows
  if (quote === undefined) throw new GatewayError('lock_quote_not_found', { param: 'quote' })
  if (quote.is_over) throw new GatewayError('lock_price_moved', { param: 'quote' })
  return quote.nanos
}
