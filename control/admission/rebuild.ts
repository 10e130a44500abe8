import type { Redis } from 'ioredis'
import { newId } from '../../contract/wire/ids.ts'
import { BATCH_OWNER, OWNERS_KEY, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import type { Limits } from '../limits.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { type HoldsKey, scanHoldsKeys } from './listHolds.ts'
import { loadShard } from './loadShard.ts'
import { ShardWriter, type Write } from './shardWriter.ts'

const SHARDS = Array.from({ length: SHARD_COUNT }, (_, shard) => shard)
const STATE_KEY = /^(?:acct|key):\{s(\d\d)\}:/

async function nextWriter(redis: Redis, pool: Pool): Promise<ShardWriter> {
  const drawn = await pool.query<{ number: number }>(`SELECT nextval('admission_loads') AS number`)
  const number = drawn.rows[0]?.number
  if (number === undefined) throw new Error('the sequence admission_loads gave no number')
  return new ShardWriter(redis, number)
}

/**
 * Makes the whole admission state anew from the book and opens admission with a new epoch. To be called under the
 * admission lock.
 * @param runId identity of the Redis process, remembered with the epoch
 * @param beforeOpen brings back what else the proxies need from Redis
 * @returns the epoch
 */
export async function rebuildAll(
  redis: Redis,
  pool: Pool,
  runId: string,
  beforeOpen: () => Promise<void>,
  limits: Limits,
): Promise<string> {
  const writer = await nextWriter(redis, pool)
  const closedMs = await Promise.all(SHARDS.map((shard) => writer.close(shard)))
  // After the closing: if this process ends here, the closed shards themselves are the marks. Not after the loading, which
  // need not have seen what a shard is marked for meanwhile.
  await pool.query('DELETE FROM admission_dirty')
  await clearState(redis, writer, limits)
  const holdsKeys = await scanHoldsKeys(redis)
  await adoptOwners(redis, holdsKeys)
  for (const shard of SHARDS) {
    const own = holdsKeys.filter((key) => key.shard === shard)
    await loadShard({ redis, pool, writer, shard, closedMs: closedMs[shard] ?? 0, holdsKeys: own, limits })
  }
  await beforeOpen()
  const epoch = newId('evt')
  await pool.query('UPDATE admission_state SET epoch = $1, redis_run_id = $2', [epoch, runId])
  await Promise.all(SHARDS.map((shard) => writer.open(shard, epoch)))
  return epoch
}

/**
 * Loads single shards anew; the others stay open meanwhile. To be called under the admission lock.
 * @param epoch the epoch in force, which the shards open with again
 */
export async function reloadShards(
  redis: Redis,
  pool: Pool,
  shards: readonly number[],
  epoch: string,
  limits: Limits,
): Promise<void> {
  const writer = await nextWriter(redis, pool)
  for (const shard of shards) {
    const closedMs = await writer.close(shard)
    // After the closing: if this process ends here, the closed shard itself is the mark.
    await pool.query('DELETE FROM admission_dirty WHERE shard = $1', [shard])
    const holdsKeys = await scanHoldsKeys(redis, `holds:{s${shard.toString().padStart(2, '0')}}:*`)
    await loadShard({ redis, pool, writer, shard, closedMs, holdsKeys, limits })
    await writer.open(shard, epoch)
  }
}

/** Removes every account and every key counter; those that the book knows are written again. */
async function clearState(redis: Redis, writer: ShardWriter, limits: Limits): Promise<void> {
  let cursor = '0'
  do {
    const [next, keys] = await redis.scan(cursor, 'COUNT', limits.admissionLoadBatchMax)
    const byShard = new Map<number, Write[]>()
    for (const key of keys) {
      const match = STATE_KEY.exec(key)
      if (match === null) continue
      const shard = Number(match[1])
      const writes = byShard.get(shard) ?? []
      byShard.set(shard, writes)
      writes.push(['UNLINK', key])
    }
    await Promise.all([...byShard].map(([shard, writes]) => writer.write(shard, writes)))
    cursor = next
  } while (cursor !== '0')
}

/** Has the owners of these holds watched, also those that Redis forgot. A living one goes on beating. */
export async function adoptOwners(redis: Redis, holdsKeys: readonly HoldsKey[]): Promise<void> {
  const owners = new Set(holdsKeys.map((key) => key.owner))
  // No process beats for the holds of batch jobs: their jobs end them.
  owners.delete(BATCH_OWNER)
  for (const owner of owners) await redis.zadd(OWNERS_KEY, 'NX', 0, owner)
}
