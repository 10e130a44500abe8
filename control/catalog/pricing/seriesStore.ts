import type { Client } from '../../runtime/db/pool.ts'
import type { PriceJson } from './price.ts'

/** The promise of a series of compute locks. */
export interface SeriesTerms {
  readonly id: string
  readonly model: string
  /** YYYY-MM, UTC. */
  readonly month: string
  /** The first instant of the next month. */
  readonly endsAtMs: number
  /** The provider that serves what burns tokens. */
  readonly provider: string
  /** Units per whole token. */
  readonly lockedPriceUnits: number
  /** Prices of the token classes, in the form of a price sheet. */
  readonly price: PriceJson
  readonly supplyMicros: number
  /** Millionths of a taker's trade. */
  readonly takerFeePpm: number
}

const COLUMNS = 'id, model, month, ends_at_ms, provider, locked_price_units, price, supply_micros, taker_fee_ppm'

/** Writes a new series, which nobody holds tokens of yet. */
export async function insertSeries(client: Client, series: SeriesTerms): Promise<void> {
  await client.query(
    `INSERT INTO lock_series (${COLUMNS}, state) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'open')`,
    [
      series.id,
      series.model,
      series.month,
      series.endsAtMs,
      series.provider,
      series.lockedPriceUnits,
      JSON.stringify(series.price),
      series.supplyMicros,
      series.takerFeePpm,
    ],
  )
}

export async function setSeriesState(client: Client, id: string, state: 'closed' | 'ended'): Promise<void> {
  await client.query('UPDATE lock_series SET state = $2 WHERE id = $1', [id, state])
}
