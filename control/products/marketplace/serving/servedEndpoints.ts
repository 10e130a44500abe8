import type { DataPolicy } from '../../../../contract/catalog/catalog.ts'
import type { Dialect } from '../../../../contract/catalog/dialects.ts'
import { textArray } from '../../../runtime/db/arrays.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'

/** Where and how a registered provider that serves is reached. */
export interface ServedEndpoint {
  readonly id: string
  /** Without a slash at its end. */
  readonly baseUrl: string
  readonly dialect: Dialect
  readonly dataPolicy: DataPolicy
  /** '' for one that takes none. */
  readonly apiKey: string
}

/** The endpoints of providers that are registered and offered, by their ids. */
export async function servedEndpoints(
  db: Queryable,
  admissions: ReadonlyArray<{ readonly providerId: string }>,
): Promise<ReadonlyMap<string, ServedEndpoint>> {
  if (admissions.length === 0) return new Map()
  const found = await db.query<ServedEndpoint>(
    `SELECT p.id, p.base_url AS "baseUrl", p.dialect, p.data_policy AS "dataPolicy", coalesce(k.api_key, '') AS "apiKey"
     FROM providers p LEFT JOIN provider_keys k ON k.provider_id = p.id
     WHERE p.id = ANY ($1::text[]) AND p.offered AND p.removed_at IS NULL`,
    [textArray(admissions.map(({ providerId }) => providerId))],
  )
  return new Map(found.rows.map((row) => [row.id, row]))
}
