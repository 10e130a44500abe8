import { CONTRACT_LIMITS } from '../../contract/limits/limits.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { holdsKey, LEDGER_GROUP, ledgerStream, OWNERS_KEY, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { rpcLanes } from '../../contract/wire/rpcStreams.ts'
import { type GaugeGroup, gaugeGroup } from '../runtime/metrics/metricGroups.ts'
import { redisNowMs } from '../runtime/redisClock.ts'

const HOLDS_READ_MAX = 2_000
// Their names do not depend on limits.
const STREAMS = Object.values(rpcLanes(CONTRACT_LIMITS))

/** How much waits in Redis. Ages are those of the oldest ledger entry, and of the oldest of the first 2,000 holds of each owner and shard. */
export function backlogGauges(redis: Redis): GaugeGroup {
  return gaugeGroup(
    {
      ledger_stream_entries: 'Entries of the ledger streams, each of one ended request or of many',
      ledger_stream_pending: 'Of these, given to a consumer',
      settlement_lag_seconds: 'Age of the oldest of these',
      rpc_stream_entries: 'Calls waiting or under way',
      holds_open: 'Holds not ended yet',
      hold_oldest_seconds: 'Age of the oldest hold',
    },
    () => sampleBacklog(redis),
  )
}

/** Measures the backlog in Redis. @throws Error when Redis cannot be asked */
async function sampleBacklog(redis: Redis) {
  if (redis.status !== 'ready') throw new Error('no connection to Redis')
  const shards = Array.from({ length: SHARD_COUNT }, (_, shard) => shard)
  const [nowMs, calls, ledgers, holds] = await Promise.all([
    redisNowMs(redis),
    Promise.all(STREAMS.map(({ stream }) => redis.xlen(stream))),
    Promise.all(shards.map((shard) => sampleLedger(redis, shard))),
    sampleHolds(redis, shards),
  ])
  const ageMs = (ms: number) => (Number.isFinite(ms) ? Math.max(0, nowMs - ms) : 0)
  return {
    ledger_stream_entries: ledgers.reduce((sum, ledger) => sum + ledger.entries, 0),
    ledger_stream_pending: ledgers.reduce((sum, ledger) => sum + ledger.pending, 0),
    settlement_lag_seconds: ageMs(Math.min(...ledgers.map((ledger) => ledger.oldestMs))) / 1_000,
    rpc_stream_entries: calls.reduce((sum, entries) => sum + entries, 0),
    holds_open: holds.count,
    hold_oldest_seconds: ageMs(holds.oldestMs) / 1_000,
  }
}

async function sampleLedger(redis: Redis, shard: number) {
  const stream = ledgerStream(shard)
  const entries = await redis.xlen(stream)
  if (entries === 0) return { entries: 0, pending: 0, oldestMs: Number.POSITIVE_INFINITY }
  const [oldestMs, pending] = await Promise.all([
    oldestMsOf(redis, shard),
    // Before the first control there is no group, and then nothing is pending.
    redis.xpending(stream, LEDGER_GROUP).catch(() => [0]),
  ])
  return { entries, pending: Number(pending[0]), oldestMs }
}

/** Age of the oldest ended request that waits to be booked, in milliseconds; 0 for none. @throws Error when Redis cannot be asked */
export async function settlementLagMs(redis: Redis): Promise<number> {
  if (redis.status !== 'ready') throw new Error('no connection to Redis')
  const shards = Array.from({ length: SHARD_COUNT }, (_, shard) => shard)
  const [nowMs, ...ages] = await Promise.all([redisNowMs(redis), ...shards.map((shard) => oldestMsOf(redis, shard))])
  const oldestMs = Math.min(...ages)
  return Number.isFinite(oldestMs) ? Math.max(0, nowMs - oldestMs) : 0
}

/** When the oldest entry of a ledger stream was written; Infinity for none. */
async function oldestMsOf(redis: Redis, shard: number): Promise<number> {
  const [oldest] = await redis.xrange(ledgerStream(shard), '-', '+', 'COUNT', 1)
  return oldest === undefined ? Number.POSITIVE_INFINITY : Number(oldest[0].split('-')[0])
}

async function sampleHolds(redis: Redis, shards: readonly number[]): Promise<{ count: number; oldestMs: number }> {
  const owners = await redis.zrange(OWNERS_KEY, '0', '-1')
  let [count, oldestMs] = [0, Number.POSITIVE_INFINITY]
  for (const owner of owners) {
    const sizes = await Promise.all(shards.map((shard) => redis.hlen(holdsKey(shard, owner))))
    for (const [shard, size] of sizes.entries()) {
      count += size
      if (size === 0) continue
      const [, fields] = await redis.hscan(holdsKey(shard, owner), '0', 'COUNT', HOLDS_READ_MAX)
      // The second part of a hold is when it was taken; see contract/wire/lua/README.md.
      for (let i = 1; i < fields.length; i += 2) oldestMs = Math.min(oldestMs, Number(fields[i]?.split('|')[1]))
    }
  }
  return { count, oldestMs }
}
