import type { Redis } from '../../contract/wire/redis.ts'
import { ledgerStream } from '../../contract/wire/redisKeys.ts'
import { bookBatch } from '../book/settlement/bookBatch.ts'
import type { RawEntry } from '../book/settlement/entry.ts'
import { entriesOf, inParts, openEntry } from '../book/settlement/openEntry.ts'
import { ReadSize } from '../book/settlement/readSize.ts'
import { removeEntries } from '../book/settlement/streamReader.ts'
import type { Pool } from '../runtime/db/pool.ts'
import type { AdmissionLimits } from './limits.ts'

/** The oldest entries of a shard's stream, regardless of the consumer that they were delivered to. */
export async function readStream(redis: Redis, shard: number, from: string, count: number): Promise<RawEntry[]> {
  const replies = (await redis.callBuffer('XRANGE', [ledgerStream(shard), from, '+', 'COUNT', count])) as [
    Buffer,
    Buffer[],
  ][]
  return replies.map(([id, fields]) => ({ shard, id: String(id), fields }))
}

/** Books everything in a shard's stream. Entries that the consumer books at the same time are booked once. */
export async function drainStream(redis: Redis, pool: Pool, shard: number, limits: AdmissionLimits): Promise<void> {
  const size = new ReadSize(limits.settlementReadMin, limits.settlementReadMax)
  for (;;) {
    const entries = (await readStream(redis, shard, '-', size.countPerStream)).map(openEntry)
    if (entries.length === 0) return
    size.note(entries)
    for (const part of inParts(entries, limits.settlementBatchMax)) {
      await bookBatch(pool, part.flatMap(entriesOf))
      await removeEntries(
        redis,
        part.map((entry) => entry.raw),
        limits,
      )
    }
  }
}

/** The id of the newest entry that a stream ever had; undefined when there is no such stream. */
export async function lastEntryId(redis: Redis, shard: number): Promise<string | undefined> {
  if ((await redis.exists(ledgerStream(shard))) === 0) return undefined
  const info = (await redis.xinfo('STREAM', ledgerStream(shard))) as unknown[]
  return String(info[info.indexOf('last-generated-id') + 1])
}
