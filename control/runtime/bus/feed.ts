import { sluice } from '../../../contract/wire/generated/messages.js'
import type { Redis } from '../../../contract/wire/redis.ts'
import { CATALOG_KEY, FEED_STREAM, SERVING_KEY, STATUS_KEY } from '../../../contract/wire/redisKeys.ts'
import type { RuntimeLimits } from '../limits.ts'

async function publishEvent(redis: Redis, event: sluice.FeedEvent.$Properties, limits: RuntimeLimits): Promise<void> {
  const bytes = Buffer.from(sluice.FeedEvent.encode(event).finish())
  await redis.xadd(FEED_STREAM, 'MAXLEN', '~', limits.feedEntriesMax, '*', 'e', bytes)
}

/**
 * Notifies every proxy that a key has changed, so that it drops its state of the key. Call it once the record in Redis is
 * dropped. @param keyHash as in `hashSecret`
 */
export function publishKeyChanged(redis: Redis, keyHash: string, limits: RuntimeLimits): Promise<void> {
  return publishEvent(redis, { keyChanged: keyHash, recordDropped: true }, limits)
}

/** Puts a CatalogRecord in force in Redis, then notifies every proxy; the record is there before the event. */
export async function publishCatalogRecord(
  redis: Redis,
  version: number,
  record: Buffer,
  limits: RuntimeLimits,
): Promise<void> {
  await redis.set(CATALOG_KEY, record)
  await publishEvent(redis, { catalogPublished: version }, limits)
}

/** Puts a StatusRecord in force in Redis, then notifies every proxy. */
export async function publishStatusRecord(redis: Redis, record: Buffer, limits: RuntimeLimits): Promise<void> {
  await redis.set(STATUS_KEY, record)
  await publishEvent(redis, { statusChanged: true }, limits)
}

/** Puts a ServingRecord in force in Redis, then notifies every proxy. */
export async function publishServingRecord(redis: Redis, record: Buffer, limits: RuntimeLimits): Promise<void> {
  await redis.set(SERVING_KEY, record)
  await publishEvent(redis, { servingChanged: true }, limits)
}
