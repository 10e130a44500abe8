// Audits the book once, by itself, so that its memory is that of an audit: node auditRun.js DATABASE_URL REDIS_URL SEED, the
// seed of the key that signs marks. Begins with the message 'full' or 'since'; answers with AuditRun and ends.

import { connectRedis } from '../contract/wire/redis.ts'
import { runAudit } from '../control/audit/runAudit.ts'
import { NoteKey } from '../control/book/checkpoint/noteKey.ts'
import { createPool } from '../control/runtime/db/pool.ts'
import { limits } from './limits.ts'

/** How an audit went. */
export interface AuditRun {
  readonly elapsedMs: number
  readonly cpuMicros: number
  /** The most that the process has had in RAM. */
  readonly residentBytes: number
  /** Invariants that do not hold. */
  readonly faults: readonly string[]
  /** How far it went. */
  readonly detail: string
}

const [databaseUrl = '', redisUrl = '', seed = ''] = process.argv.slice(2)

process.once('message', (message) => {
  void audit(message === 'full').then((run) => process.send?.(run, () => process.disconnect()))
})
process.on('disconnect', () => process.exit())
process.send?.({ ready: {} })

async function audit(isFull: boolean): Promise<AuditRun> {
  const pool = createPool(databaseUrl, limits)
  const redis = connectRedis(redisUrl, 'wait')
  const [begin, begunCpu] = [performance.now(), process.cpuUsage()]
  try {
    const checks = await runAudit(pool, redis, limits, { marking: { isFull, key: NoteKey.of(seed) } })
    const elapsedMs = performance.now() - begin
    const { user, system } = process.cpuUsage(begunCpu)
    return {
      elapsedMs,
      cpuMicros: user + system,
      residentBytes: process.resourceUsage().maxRSS * 1_024,
      faults: checks.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`),
      detail: checks.at(-1)?.detail ?? '',
    }
  } finally {
    redis.disconnect()
    await pool.end()
  }
}
