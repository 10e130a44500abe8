import { newId } from '../../../contract/wire/ids.ts'
import { textArray } from '../../runtime/db/arrays.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import type { CatalogLimits } from '../limits.ts'
import type { Comparison } from './compare.ts'

/** A list as it was read. */
export interface ListReading {
  readonly provider: string
  /** As the catalog names the list. */
  readonly list: string
  /** The public form of its address; undefined where the address is not shown. */
  readonly url: string | undefined
  /** SHA-256 of the bytes that were read, in hex. */
  readonly sha256: string
  readonly at: Date
  readonly comparisons: readonly Comparison[]
}

interface CurrentRow {
  readonly id: string
  readonly upstream_model: string
  readonly model: string
  readonly fingerprint: string
}

const nameOf = (upstreamModel: string, model: string): string => `${upstreamModel}\n${model}`

/**
 * Books a reading of a list in the caller's transaction: inserts a row for each price that is new or has changed, and updates
 * when every other one was last seen.
 * @returns the prices that are new or have changed
 */
export async function bookReading(client: Client, reading: ListReading): Promise<Comparison[]> {
  const { provider, list, at, sha256 } = reading
  locking(client, 'observations')
  const found = await client.query<CurrentRow>(
    `SELECT id, upstream_model, model, fingerprint FROM price_observations
     WHERE is_current AND provider = $1 AND list = $2 FOR UPDATE`,
    [provider, list],
  )
  const current = new Map(found.rows.map((row) => [nameOf(row.upstream_model, row.model), row]))
  const isSeen = (one: Comparison) => current.get(nameOf(one.upstreamModel, one.model))?.fingerprint === one.fingerprint
  const seen = reading.comparisons.filter(isSeen)
  const changed = reading.comparisons.filter((one) => !isSeen(one))
  const seenIds = seen.map((one) => current.get(nameOf(one.upstreamModel, one.model))?.id ?? '')
  await client.query(
    `UPDATE price_observations SET last_seen_at = greatest(last_seen_at, $2), last_sha256 = $3 WHERE id = ANY($1)`,
    [textArray(seenIds), at, sha256],
  )
  const stays = new Set(seenIds)
  const goneIds = found.rows.map(({ id }) => id).filter((id) => !stays.has(id))
  await client.query('UPDATE price_observations SET is_current = false WHERE id = ANY($1)', [textArray(goneIds)])
  await insertRows(client, reading, changed)
  return changed
}

async function insertRows(client: Client, reading: ListReading, changed: readonly Comparison[]): Promise<void> {
  const { provider, list, url, sha256, at } = reading
  const rows = changed.map((one) => ({
    id: newId('obs', at.getTime()),
    upstream_model: one.upstreamModel,
    model: one.model,
    price: one.price,
    sheet_version: one.sheetVersion ?? null,
    sold: one.sold ?? null,
    difference: one.difference ?? null,
    is_above_sold: one.above.length > 0,
    fingerprint: one.fingerprint,
  }))
  await client.query(
    `INSERT INTO price_observations (id, provider, list, url, upstream_model, model, price, sheet_version, sold, difference,
       is_above_sold, fingerprint, first_sha256, last_sha256, observed_at, last_seen_at, is_current)
     SELECT id, $2, $3, $4, upstream_model, model, price, sheet_version, sold, difference, is_above_sold, fingerprint, $5, $5,
       $6, $6, true
     FROM json_to_recordset($1) AS r(id text, upstream_model text, model text, price text, sheet_version integer, sold text,
       difference text, is_above_sold boolean, fingerprint text)`,
    [JSON.stringify(rows), provider, list, url ?? null, sha256, at],
  )
}

/** Marks observations of lists that the catalog does not name any more as past. @param lists those that it names */
export async function endOtherLists(
  db: Queryable,
  lists: ReadonlyArray<{ readonly provider: string; readonly list: string }>,
): Promise<void> {
  await db.query(
    `UPDATE price_observations SET is_current = false WHERE is_current AND (provider, list) NOT IN
       (SELECT * FROM unnest($1::text[], $2::text[]))`,
    [textArray(lists.map(({ provider }) => provider)), textArray(lists.map(({ list }) => list))],
  )
}

/** Removes the least recently seen observations beyond limits.observationsMax. */
export async function forgetObservations(db: Queryable, limits: CatalogLimits): Promise<void> {
  await db.query(
    `DELETE FROM price_observations WHERE id IN (
       SELECT id FROM price_observations ORDER BY last_seen_at, id
       LIMIT greatest((SELECT count(*) FROM price_observations) - $1, 0))`,
    [limits.observationsMax],
  )
}

/** An observation as it is kept. Prices are JSON texts. */
export interface StoredObservation {
  readonly id: string
  readonly provider: string
  readonly url: string | null
  readonly upstreamModel: string
  readonly model: string
  readonly price: string
  readonly sheetVersion: number | null
  readonly sold: string | null
  readonly difference: string | null
  readonly isAboveSold: boolean
  readonly firstSha256: string
  readonly lastSha256: string
  readonly observedAt: Date
  readonly lastSeenAt: Date
  readonly isCurrent: boolean
}

/** A filter of observations; a member that is undefined matches all. */
export interface ObservationFilter {
  /** The model of the catalog, or as its provider names it. */
  readonly model: string | undefined
  readonly provider: string | undefined
  /** Seen at this time or later. Milliseconds since 1970. */
  readonly fromMs: number | undefined
  /** First seen before this time. Milliseconds since 1970. */
  readonly toMs: number | undefined
}

/** Observations, newest first. @param below the id that all of them are below; '' for the newest */
export async function listObservations(
  db: Queryable,
  filter: ObservationFilter,
  limit: number,
  below: string,
): Promise<StoredObservation[]> {
  const time = (ms: number | undefined) => (ms === undefined ? null : new Date(ms))
  const found = await db.query<StoredObservation>(
    `SELECT id, provider, url, upstream_model AS "upstreamModel", model, price, sheet_version AS "sheetVersion", sold,
       difference, is_above_sold AS "isAboveSold", first_sha256 AS "firstSha256", last_sha256 AS "lastSha256",
       observed_at AS "observedAt", last_seen_at AS "lastSeenAt", is_current AS "isCurrent"
     FROM price_observations
     WHERE ($1 = '' OR id < $1) AND ($2::text IS NULL OR model = $2 OR upstream_model = $2)
       AND ($3::text IS NULL OR provider = $3) AND ($4::timestamptz IS NULL OR last_seen_at >= $4)
       AND ($5::timestamptz IS NULL OR observed_at < $5)
     ORDER BY id DESC LIMIT $6`,
    [below, filter.model ?? null, filter.provider ?? null, time(filter.fromMs), time(filter.toMs), limit],
  )
  return found.rows
}

/** An entry of GET /v1/pricing/observations. */
export function observationJson(stored: StoredObservation) {
  const { sold, difference } = stored
  return {
    object: 'price_observation' as const,
    id: stored.id,
    provider: stored.provider,
    source: stored.url,
    sha256: stored.firstSha256,
    last_sha256: stored.lastSha256,
    observed_at: stored.observedAt.toISOString(),
    last_seen_at: stored.lastSeenAt.toISOString(),
    current: stored.isCurrent,
    upstream_model: stored.upstreamModel,
    model: stored.model === '' ? null : stored.model,
    price: JSON.parse(stored.price) as Record<string, string>,
    price_sheet: stored.sheetVersion === null ? null : String(stored.sheetVersion),
    sold: sold === null ? null : (JSON.parse(sold) as Record<string, string>),
    difference: difference === null ? null : (JSON.parse(difference) as Record<string, string>),
    above_sold: stored.isAboveSold,
  }
}
