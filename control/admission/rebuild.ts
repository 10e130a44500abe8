import { newId } from '../../contract/wire/ids.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { BATCH_OWNER, OWNERS_KEY, SERVERS_KEY, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { scanKeys } from '../../contract/wire/redisShards.ts'
import { unmarkDirty } from '../book/settlement/dirtyShards.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { askOwners } from './askOwners.ts'
import { scanLeasesKeys } from './leaseRecord.ts'
import type { AdmissionLimits } from './limits.ts'
import { type OwnedKey, scanHoldsKeys } from './listHolds.ts'
import { bookStreams, type LeaseReports, loadShard, unusedShards } from './loadShard.ts'
import { ShardWriter, type Write } from './shardWriter.ts'

const SHARDS = Array.from({ length: SHARD_COUNT }, (_, shard) => shard)
const STATE_KEY = /^(?:acct|key):\{s(\d\d)\}:/

/** Each loading has a number that is greater than those of all before. */
async function nextWriter(redis: Redis, pool: Pool): Promise<ShardWriter> {
  const drawn = await pool.query<{ number: number }>(`SELECT nextval('admission_loads') AS number`)
  const number = drawn.rows[0]?.number
  if (number === undefined) throw new Error('the sequence admission_loads gave no number')
  return new ShardWriter(redis, number)
}

/**
 * Rebuilds the whole admission state from the book and opens admission with a new epoch. Call it under the admission lock.
 * @param servers as `serversOf` returned them before; remembered with the epoch, and named to the proxies
 * @param beforeOpen brings back what else the proxies need from Redis
 * @returns the epoch
 */
export async function rebuildAll(
  redis: Redis,
  pool: Pool,
  servers: string,
  beforeOpen: () => Promise<void>,
  limits: AdmissionLimits,
): Promise<string> {
  const writer = await nextWriter(redis, pool)
  const closedMs = await Promise.all(SHARDS.map((shard) => writer.close(shard)))
  // After the closing: if this process ends here, the closed shards themselves are the marks. Not after the loading, which may
  // have missed a change for which a shard is marked meanwhile.
  await unmarkDirty(pool)
  await clearState(redis, writer, limits)
  // Before the owners read how far their endings are booked, so that no ending in the streams is delivered again.
  await bookStreams(
    { redis, pool, limits },
    SHARDS.map((shard) => ({ shard, closedMs: closedMs[shard] ?? 0 })),
  )
  const owners = await askOwners(redis, pool, writer.loadNumber, limits)
  const loader = await nextWriter(redis, pool)
  await loadAll(redis, pool, loader, { loadNumber: writer.loadNumber, owners }, limits)
  await beforeOpen()
  const epoch = newId('evt')
  await pool.query('UPDATE admission_state SET epoch = $1, redis_run_id = $2', [epoch, servers])
  await redis.set(SERVERS_KEY, servers)
  await Promise.all(SHARDS.map((shard) => loader.open(shard, epoch)))
  return epoch
}

/** Loads all shards. The writer has a higher number than the one that owners report to, so that late reports are rejected. */
async function loadAll(
  redis: Redis,
  pool: Pool,
  writer: ShardWriter,
  reports: LeaseReports,
  limits: AdmissionLimits,
): Promise<void> {
  const closedMs = await Promise.all(SHARDS.map((shard) => writer.close(shard, reports.loadNumber)))
  const holdsKeys = await scanHoldsKeys(redis)
  const leasesKeys = await scanLeasesKeys(redis)
  await adoptOwners(redis, [...holdsKeys, ...leasesKeys])
  const unused = await unusedShards(pool)
  const ofShard = (keys: readonly OwnedKey[], shard: number) => keys.filter((key) => key.shard === shard)
  for (const shard of SHARDS) {
    const owned = { holdsKeys: ofShard(holdsKeys, shard), leasesKeys: ofShard(leasesKeys, shard) }
    await loadShard({ redis, pool, writer, shard, closedMs: closedMs[shard] ?? 0, ...owned, reports, unused, limits })
  }
}

/**
 * Reloads single shards; the others stay open meanwhile, and leases are kept. Call it under the admission lock.
 * @param epoch the epoch in force, which the shards open with again
 */
export async function reloadShards(
  redis: Redis,
  pool: Pool,
  shards: readonly number[],
  epoch: string,
  limits: AdmissionLimits,
): Promise<void> {
  const writer = await nextWriter(redis, pool)
  for (const shard of shards) {
    const closedMs = await writer.close(shard)
    // After the closing: if this process ends here, the closed shard itself is the mark.
    await unmarkDirty(pool, [shard])
    await bookStreams({ redis, pool, limits }, [{ shard, closedMs }])
    const [holdsKeys, leasesKeys] = [await scanHoldsKeys(redis, { shard }), await scanLeasesKeys(redis, { shard })]
    await loadShard({ redis, pool, writer, shard, closedMs, holdsKeys, leasesKeys, limits })
    await writer.open(shard, epoch)
  }
}

/** Removes every account and every key counter; those that the book knows are written again. */
async function clearState(redis: Redis, writer: ShardWriter, limits: AdmissionLimits): Promise<void> {
  for await (const keys of scanKeys(redis, { count: limits.admissionLoadBatchMax })) {
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
  }
}

/** Watches the owners of these holds and leases, including those that Redis forgot. A live one continues its heartbeat. */
export async function adoptOwners(redis: Redis, keys: readonly OwnedKey[]): Promise<void> {
  const owners = new Set(keys.map((key) => key.owner))
  // No process sends a heartbeat for the holds of batch jobs: their jobs end them.
  owners.delete(BATCH_OWNER)
  for (const owner of owners) await redis.zadd(OWNERS_KEY, 'NX', 0, owner)
}
