import { intArray } from '../../runtime/db/arrays.ts'
import type { Client } from '../../runtime/db/pool.ts'
import { STRETCH_RECEIPTS, type Stretch, stretchArrays } from '../usagelog/stretches.ts'
import { BOUNDS_MS } from './buckets.ts'
import type { OwnedCell } from './cell.ts'

type FreshRow = Omit<OwnedCell, 'durations' | 'first_tokens'> & {
  readonly duration_places: number[] | null
  readonly duration_counts: number[] | null
  readonly first_places: number[] | null
  readonly first_counts: number[] | null
}

/** Counts of requests by bucket. @param place the column of receipts that has the bucket */
const countsOf = (place: string): string => `
  SELECT day, model, json_agg(place) AS places, json_agg(count) AS counts FROM (
    SELECT day, model, ${place} AS place, count(*) AS count FROM fresh WHERE ${place} IS NOT NULL GROUP BY 1, 2, 3
  ) AS buckets GROUP BY 1, 2`

/**
 * Durations are counted only where they measure the gateway: a batch job depends on the provider's queue, and a request that
 * the client ended depends on the client. The first token of a buffered answer is also its last, so it is not counted. $5 are
 * the bounds, $4 is how many accounts are enough: no more are named.
 */
const FRESH = `
  WITH fresh AS MATERIALIZED (
    SELECT (r.held_at_ms / 86400000)::integer AS day, r.model, coalesce(a.owner_id, r.account_id) AS owner, r.charge_units,
      r.status = 'ok' AS is_ok, r.status <> 'ok' AND r.error_code = 'client_gone' AS is_left, r.input_tokens,
      r.cached_input_tokens, r.cache_write_5m_tokens, r.cache_write_1h_tokens, r.output_tokens, r.reasoning_tokens,
      CASE WHEN r.status = 'ok' AND r.rate <> 'batch' THEN width_bucket(r.duration_ms - 1, $5::integer[]) END AS duration,
      CASE WHEN r.streamed AND r.first_byte_ms > 0 THEN width_bucket(r.first_byte_ms - 1, $5::integer[]) END AS first
    FROM ${STRETCH_RECEIPTS} AS r
    LEFT JOIN account_owners a USING (account_id)
  ), sums AS (
    SELECT day, model, count(*) AS requests, count(*) FILTER (WHERE is_ok) AS ok,
      count(*) FILTER (WHERE is_left) AS ended_by_client, count(*) FILTER (WHERE NOT is_ok AND NOT is_left) AS failed,
      sum(charge_units) AS units, sum(input_tokens) AS input_tokens, sum(cached_input_tokens) AS cached_input_tokens,
      sum(cache_write_5m_tokens) AS cache_write_5m_tokens, sum(cache_write_1h_tokens) AS cache_write_1h_tokens,
      sum(output_tokens) AS output_tokens, sum(reasoning_tokens) AS reasoning_tokens
    FROM fresh GROUP BY 1, 2
  ), accounts AS (
    SELECT day, model, (array_agg(owner ORDER BY owner))[1:$4] AS owners
    FROM (SELECT DISTINCT day, model, owner FROM fresh) AS each GROUP BY 1, 2
  )
  SELECT s.*, o.owners, d.places AS duration_places, d.counts AS duration_counts, f.places AS first_places,
    f.counts AS first_counts
  FROM sums s JOIN accounts o USING (day, model) LEFT JOIN (${countsOf('duration')}) AS d USING (day, model)
  LEFT JOIN (${countsOf('first')}) AS f USING (day, model)`

/**
 * Adds up the receipts of some stretches by day and model.
 * @param least how many accounts are enough; of a row that has more, only this many are named
 */
export async function freshReceipts(
  client: Client,
  stretches: readonly Stretch[],
  least: number,
): Promise<OwnedCell[]> {
  if (stretches.length === 0) return []
  const found = await client.query<FreshRow>(FRESH, [...stretchArrays(stretches), least, intArray(BOUNDS_MS)])
  return found.rows.map(({ duration_places, duration_counts, first_places, first_counts, ...row }) => ({
    ...row,
    durations: atPlaces(duration_places, duration_counts),
    first_tokens: atPlaces(first_places, first_counts),
  }))
}

function atPlaces(places: readonly number[] | null, counts: readonly number[] | null): number[] {
  if (places === null || counts === null) return []
  const all = new Array<number>(Math.max(...places) + 1).fill(0)
  for (const [i, place] of places.entries()) all[place] = counts[i] ?? 0
  return all
}
