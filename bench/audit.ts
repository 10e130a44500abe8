// Time and memory of an audit: of the whole book, and of the entries since the last audit.
// node dist/bench/audit.js [receipts] [--json]
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { pino } from 'pino'
import { ensureAdmission } from '../control/admission/keeper.ts'
import { generateNoteKey, NoteKey } from '../control/book/checkpoint/noteKey.ts'
import { countOutcomes } from '../control/book/statistics/countOutcomes.ts'
import { countReceipts } from '../control/book/statistics/countReceipts.ts'
import { migrate } from '../control/runtime/db/migrate.ts'
import type { Pool } from '../control/runtime/db/pool.ts'
import { bookReceipts, openAccounts, PER_ACCOUNT } from './audit/bookReceipts.ts'
import type { AuditRun } from './auditRun.ts'
import { startChild } from './child.ts'
import { familyCpuMicros } from './cpu.ts'
import { limits } from './limits.ts'
import { startBookServers } from './parts/bookServers.ts'

const RECEIPTS = 300_000
/** Between the audits, one in this many of the earlier receipts is booked in addition. */
const NEW_PART = 10

interface Measured extends AuditRun {
  readonly receipts: number
  readonly postgresMicros: number
  /** Of the machine in the minute before. */
  readonly load: number
}

/** @param kind also selects the expected report of the audit's extent */
async function measure(
  kind: 'full' | 'since',
  receipts: number,
  args: readonly string[],
  postgresPid: number,
): Promise<Measured> {
  const child = await startChild('auditRun.js', args)
  const [load = 0] = loadavg()
  const before = familyCpuMicros(postgresPid)
  const answered = once(child.process, 'message')
  child.process.send(kind)
  const [run] = (await answered) as [AuditRun]
  const postgresMicros = familyCpuMicros(postgresPid) - before
  await child.stop()
  const isTold = kind === 'full' ? /^everything was checked; left a signed/ : /^went on from .* left a signed mark$/
  if (run.faults.length > 0 || !isTold.test(run.detail)) {
    throw new Error(`the audit says: ${[...run.faults, run.detail].join('\n')}`)
  }
  return { ...run, receipts, postgresMicros, load }
}

async function main(): Promise<void> {
  const [count = RECEIPTS] = process.argv
    .slice(2)
    .filter((text) => /^\d+$/.test(text))
    .map(Number)
  const servers = await startBookServers('audit')
  const { pool, redis, postgres } = servers
  try {
    await migrate(pool)
    const seed = generateNoteKey('bench')
    const key = NoteKey.of(seed)
    const args = [servers.databaseUrl, servers.redisUrl, seed]
    const accounts = await openAccounts(pool, Math.ceil(count / PER_ACCOUNT))
    await bookReceipts(pool, accounts, [0, count], key)
    await countAll(pool)
    const admission = { pool, redis, log: pino({ level: 'error' }), limits }
    await ensureAdmission(admission)
    const full = await measure('full', count, args, postgres.process.pid ?? 0)
    const added = Math.ceil(count / NEW_PART)
    await bookReceipts(pool, accounts, [count, added], key)
    await countAll(pool)
    await redis.flushall()
    await ensureAdmission(admission)
    const since = await measure('since', added, args, postgres.process.pid ?? 0)
    console.log(process.argv.includes('--json') ? JSON.stringify({ full, since }) : tableOf({ full, since }))
  } finally {
    await servers.stop()
  }
}

/** Counts all receipts, as control does soon after it has booked them. */
async function countAll(pool: Pool): Promise<void> {
  const counts = [countReceipts, countOutcomes]
  for (const count of counts) while (await count(pool, limits));
}

function tableOf(runs: Readonly<Record<string, Measured>>): string {
  const lines = Object.entries(runs).map(([name, run]) => {
    const each = (micros: number) => (micros / run.receipts).toFixed(1)
    const cpu = `CPU ${each(run.cpuMicros)} us and PostgreSQL ${each(run.postgresMicros)} us`
    const time = `${(run.elapsedMs / 1_000).toFixed(1)} s, a receipt ${each(run.elapsedMs * 1_000)} us (${cpu})`
    return `${name}: ${run.receipts} receipts in ${time}, ${Math.round(run.residentBytes / 2 ** 20)} MiB; load ${run.load.toFixed(1)}`
  })
  return lines.join('\n')
}

await main()
