import { sluice } from '../../../contract/wire/generated/messages.js'
import type { Redis } from '../../../contract/wire/redis.ts'
import { CATALOG_KEY } from '../../../contract/wire/redisKeys.ts'
import { publishCatalogRecord } from '../../runtime/bus/feed.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { CatalogLimits } from '../limits.ts'
import { currentRecord } from './sheetStore.ts'

/** Writes of one call; when a change follows even the last of them, the next call writes it. */
const WRITES_MAX = 3

/**
 * Puts the catalog record of the book into Redis and notifies every proxy, if Redis has another one or none.
 * @returns the version that was written, or undefined if Redis had it
 */
export async function syncCatalog(db: Queryable, redis: Redis, limits: CatalogLimits): Promise<number | undefined> {
  let version: number | undefined
  // Another process may have read the book before a change of this one and write after it, so that both compare again.
  for (let written = 0; ; written++) {
    const record = await currentRecord(db)
    if (record === undefined || (await redis.getBuffer(CATALOG_KEY))?.equals(record) === true) return version
    if (written === WRITES_MAX) return version
    version = sluice.CatalogRecord.decode(record).version
    await publishCatalogRecord(redis, version, record, limits)
  }
}
