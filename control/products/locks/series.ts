import { GatewayError } from '../../../contract/errors/errors.ts'
import type { SeriesTerms } from '../../catalog/pricing/seriesStore.ts'
import { camelColumns } from '../../runtime/db/columns.ts'
import { countOf } from '../../runtime/db/count.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'

export interface LockSeries extends SeriesTerms {
  readonly state: 'open' | 'broken' | 'ended' | 'closed'
  /** Why the catalog in force cannot serve it; '' where it can. */
  readonly unavailable: string
}

const BROKEN_MESSAGE =
  'This series has ended before its month: its holders are paid back, and its open orders are cancelled.'
const COLUMNS =
  camelColumns(`id, model, month, ends_at_ms, provider, locked_price_units, price, supply_micros, taker_fee_ppm,
  state, unavailable`)

/** A series, or undefined when there is none with this id. */
export async function seriesById(db: Queryable, id: string): Promise<LockSeries | undefined> {
  const found = await db.query<LockSeries>(`SELECT ${COLUMNS} FROM lock_series WHERE id = $1`, [id])
  return found.rows[0]
}

/** The series that are not closed, soonest end first; or all there ever were. */
export async function listSeries(db: Queryable, which: 'living' | 'all', limit: number): Promise<LockSeries[]> {
  const found = await db.query<LockSeries>(
    `SELECT ${COLUMNS} FROM lock_series WHERE $1 OR state <> 'closed' ORDER BY ends_at_ms, model, id LIMIT $2`,
    [which === 'all', limit],
  )
  return found.rows
}

/** How many series are not closed. */
export async function countLivingSeries(db: Queryable): Promise<number> {
  return countOf(db, `SELECT count(*) FROM lock_series WHERE state <> 'closed'`)
}

/**
 * Locks a series until the end of the transaction: its orders are booked one after the other, which is their order. Before
 * any account is locked, so that two transactions never wait for each other in a circle.
 * @throws GatewayError lock_series_not_found
 */
export async function lockSeriesRow(client: Client, id: string): Promise<LockSeries> {
  locking(client, 'series', () => [id])
  const found = await client.query<LockSeries>(`SELECT ${COLUMNS} FROM lock_series WHERE id = $1 FOR NO KEY UPDATE`, [
    id,
  ])
  const [series] = found.rows
  if (series === undefined) throw new GatewayError('lock_series_not_found')
  return series
}

/** No account has more tokens than there are. @throws GatewayError insufficient_balance */
export function refuseMoreThanSupply({ supplyMicros }: LockSeries, micros: number): void {
  if (micros <= supplyMicros) return
  const message = 'The series has fewer tokens than these; ask for fewer.'
  throw new GatewayError('insufficient_balance', { message, param: 'tokens' })
}

/** As `lockSeriesRow`, while its orders are not ended. @throws GatewayError lock_series_not_found; lock_series_ended */
export async function lockOpenSeries(client: Client, id: string): Promise<LockSeries> {
  return whileOpen(client, await lockSeriesRow(client, id))
}

/** As `lockSeriesRow`, for trading. @throws GatewayError lock_series_not_found; lock_series_ended; lock_series_unavailable */
export async function lockTradedSeries(client: Client, id: string): Promise<LockSeries> {
  return whileServed(await lockOpenSeries(client, id))
}

/** A series that is traded, without a lock. @throws GatewayError as `lockTradedSeries` */
export async function tradedSeries(db: Queryable, id: string): Promise<LockSeries> {
  const series = await seriesById(db, id)
  if (series === undefined) throw new GatewayError('lock_series_not_found')
  return whileServed(await whileOpen(db, series))
}

async function whileOpen(db: Queryable, series: LockSeries): Promise<LockSeries> {
  if (series.state === 'broken') throw new GatewayError('lock_series_unavailable', { message: BROKEN_MESSAGE })
  if (series.state === 'open' && (await databaseNowMs(db)) < series.endsAtMs) return series
  throw new GatewayError('lock_series_ended')
}

/** Series that cannot be used are not sold. */
function whileServed(series: LockSeries): LockSeries {
  if (series.unavailable === '') return series
  throw new GatewayError('lock_series_unavailable', {
    message: `Requests cannot use this series now (${series.unavailable}), so that it is not traded. Orders can be cancelled.`,
  })
}

/** Series that have ended, by the database's clock or before their month, and are not closed. */
export async function endedSeries(db: Queryable, limit: number): Promise<LockSeries[]> {
  const found = await db.query<LockSeries>(
    `SELECT ${COLUMNS} FROM lock_series
     WHERE state <> 'closed' AND (state = 'broken' OR ends_at_ms <= extract(epoch FROM now()) * 1000) ORDER BY ends_at_ms, id LIMIT $1`,
    [limit],
  )
  return found.rows
}

/** The time that a statement begins, which goes on while a transaction waits for locks. */
async function databaseNowMs(db: Queryable): Promise<number> {
  const asked = await db.query<{ ms: number }>('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms')
  return asked.rows[0]?.ms ?? 0
}
