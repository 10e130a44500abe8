import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from '../../contract/wire/redis.ts'
import { REPORT_CHANNEL, REPORTED_KEY } from '../../contract/wire/redisKeys.ts'
import { subscribersOf } from '../../contract/wire/redisShards.ts'
import type { Pool } from '../runtime/db/pool.ts'
import type { AdmissionLimits } from './limits.ts'

/**
 * Asks the proxy processes, while admission is closed, to report into the shards the leases that they still need, and waits up
 * to limits.leaseReportMs for all live ones. Call it once the streams are booked, because the reports cover only unbooked
 * endings. A process that does not answer in time reports when admission is open; until then, its leases in Redis stay
 * outstanding.
 * @param loadNumber the number of the loading that has closed the shards
 * @returns the owners that have reported
 */
export async function askOwners(
  redis: Redis,
  pool: Pool,
  loadNumber: number,
  limits: AdmissionLimits,
): Promise<ReadonlySet<string>> {
  const beganMs = performance.now()
  // Read once: heartbeats during the wait have a later `seen_at`, which would drop the awaited owners from the result.
  const living = await lastLiving(pool, limits)
  await redis.del(REPORTED_KEY)
  let askAtMs = beganMs
  let receivers = 0
  for (;;) {
    const reported = await reportedTo(redis, loadNumber)
    const tookMs = performance.now() - beganMs
    const isDone = living.every((owner) => reported.has(owner))
    const isAlone = receivers === 0 && reported.size === 0 && tookMs >= limits.leaseReportersMs
    if (isDone || isAlone || tookMs >= limits.leaseReportMs) return reported
    if (performance.now() >= askAtMs) {
      await redis.publish(REPORT_CHANNEL, String(loadNumber))
      receivers = await subscribersOf(redis, REPORT_CHANNEL)
      askAtMs = performance.now() + limits.leaseReportAskMs
    }
    await sleep(limits.leaseReportPollMs)
  }
}

async function reportedTo(redis: Redis, loadNumber: number): Promise<Set<string>> {
  const reports = Object.entries(await redis.hgetall(REPORTED_KEY))
  return new Set(reports.filter(([, number]) => number === String(loadNumber)).map(([owner]) => owner))
}

/**
 * The owners that were alive when control last saw any heartbeat. After control was down, no heartbeat is recent, although
 * proxies may have served requests from leases meanwhile.
 */
async function lastLiving(pool: Pool, limits: AdmissionLimits): Promise<string[]> {
  const found = await pool.query<{ owner: string }>(
    `SELECT owner FROM proxy_owners
     WHERE seen_at > (SELECT max(seen_at) FROM proxy_owners) - make_interval(secs => $1)`,
    [limits.heartbeatTimeoutMs / 1_000],
  )
  return found.rows.map((row) => row.owner)
}
