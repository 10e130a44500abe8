import type { Redis } from '../../../contract/wire/redis.ts'
import { refusalsKey, SHARD_COUNT, shardOf, UNKNOWN_REFUSALS_KEY } from '../../../contract/wire/redisKeys.ts'
import { REFUSAL_FIELD, type RefusalRecord } from '../../../contract/wire/refusalRecord.ts'
import { idTimeMs } from '../../book/partitions/idTime.ts'

const PAGE = 100
/** The most that the clock of a proxy may be ahead of that of Redis. */
const CLOCK_MS = 60_000

/** A refusal as it was kept. */
export interface Refusal {
  readonly record: RefusalRecord
  /** When it was kept, on Redis's clock. */
  readonly atMs: number
}

/** The refusal of a request of an account, if it is kept. @param accountId '' for any */
export async function findRefusal(redis: Redis, accountId: string, requestId: string): Promise<Refusal | undefined> {
  const shards = accountId === '' ? Array.from({ length: SHARD_COUNT }).keys() : [shardOf(accountId)]
  for (const shard of shards) {
    const found = await findIn(redis, refusalsKey(shard), requestId)
    if (found !== undefined) return found
  }
  return undefined
}

/** The same for a request with a key that was not in force. */
export function findUnknownKey(redis: Redis, requestId: string): Promise<Refusal | undefined> {
  return findIn(redis, UNKNOWN_REFUSALS_KEY, requestId)
}

async function findIn(redis: Redis, key: string, requestId: string): Promise<Refusal | undefined> {
  // It was kept after its request had arrived.
  let from = String(Math.max(0, idTimeMs(requestId) - CLOCK_MS))
  for (;;) {
    const page = await redis.xrange(key, from, '+', 'COUNT', PAGE)
    for (const [id, fields] of page) {
      const text = fields[fields.indexOf(REFUSAL_FIELD) + 1] ?? ''
      if (text.includes(requestId)) return { record: JSON.parse(text) as RefusalRecord, atMs: Number.parseInt(id, 10) }
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return undefined
    from = `(${last[0]}`
  }
}
