import type { Redis } from '../../contract/wire/redis.ts'
import type { NoteKey } from '../book/checkpoint/noteKey.ts'
import { HEADS_LOG } from '../book/usagelog/head.ts'
import type { Limits } from '../limits.ts'
import type { Client, Pool } from '../runtime/db/pool.ts'
import { together } from '../runtime/db/together.ts'
import { checkAdmission } from './admissionChecks.ts'
import { checkAttested } from './attestedChecks.ts'
import { type AuditMark, bookedUntil, readMark, writeMark } from './auditMark.ts'
import { checkBook } from './bookChecks.ts'
import { checkCatalogs } from './catalogChecks.ts'
import { checkChain } from './chainChecks.ts'
import type { AuditCheck } from './check.ts'
import { checkCheckpoints } from './checkpointChecks.ts'
import { type OnProgress, Progress } from './progress.ts'
import { checkRates } from './rateChecks.ts'
import { checkAttestations } from './reserveChecks.ts'
import { checkUsageLogs } from './usageLogChecks.ts'
import { exportSnapshot, inReader, inWorkspace } from './workspace.ts'

export type { AuditCheck } from './check.ts'

/** How an audit deals with the mark of the one before it. */
export interface Marking {
  /** Whether everything is checked, independent of the mark. */
  readonly isFull: boolean
  /** Signs marks; undefined where nothing is signed. */
  readonly key: NoteKey | undefined
}

/** Optional parts of an audit. */
export interface AuditOptions {
  /** Of a node, to compare the tokens of the treasury; without it that is left out. */
  readonly rpcUrl?: string | undefined
  /** Without it all is checked and no mark is left. */
  readonly marking?: Marking | undefined
  readonly onProgress?: OnProgress | undefined
}

/**
 * Verifies the invariants of the book, of the usage logs and their checkpoints, of the signed catalogs, and that the admission
 * state agrees with the book. Reads in pages; may run beside traffic. When all hold, it leaves a mark, from which the next
 * audit continues.
 * @returns every check, including those that hold
 * @throws errors of PostgreSQL and Redis
 */
export async function runAudit(
  pool: Pool,
  redis: Redis,
  limits: Limits,
  { rpcUrl, marking, onProgress }: AuditOptions = {},
): Promise<AuditCheck[]> {
  const since = await bookedUntil(pool)
  return inWorkspace(pool, marking !== undefined, async (client) => {
    const { mark, refused } = await markFor(client, marking, limits)
    const progress = new Progress(onProgress)
    // Once for the charges and once for the logs.
    progress.expect(2 * (await countNew(client, mark)))
    const checks = [
      ...(await checkBoth(pool, client, mark, progress, limits)),
      ...(await checkCatalogs(client)),
      ...(await checkAttestations(client, limits)),
      ...(await checkAdmission(pool, redis, limits)),
      ...(await checkChain(pool, rpcUrl, limits)),
    ]
    if (marking === undefined) return checks
    const isClean = checks.every(({ ok }) => ok)
    if (isClean) await writeMark(client, marking.key, mark, since, limits)
    return [...checks, describeMark(marking, mark, refused, isClean)]
  })
}

/** Checks the charges and, beside them, the logs: each keeps the database as busy as one connection can. */
async function checkBoth(
  pool: Pool,
  client: Client,
  mark: AuditMark | undefined,
  progress: Progress,
  limits: Limits,
): Promise<AuditCheck[]> {
  const snapshot = await exportSnapshot(client)
  const logs = inReader(pool, snapshot, async (reader) => [
    ...(await checkRates(reader, mark, limits)),
    ...(await checkAttested(reader, mark, limits)),
    ...(await checkUsageLogs(reader, mark, progress, limits)),
    ...(await checkCheckpoints(reader, mark, limits)),
  ])
  return (await together([checkBook(client, mark, progress, limits), logs])).flat()
}

async function markFor(client: Client, marking: Marking | undefined, limits: Limits) {
  if (marking === undefined || marking.isFull) return { mark: undefined, refused: undefined }
  return await readMark(client, marking.key, limits)
}

/** The number of receipts after the mark. */
async function countNew(client: Client, mark: AuditMark | undefined): Promise<number> {
  const found = await client.query<{ log: number; size: number }>('SELECT log, size FROM usage_log_heads')
  const logs = found.rows.filter(({ log }) => log !== HEADS_LOG)
  return logs.reduce((sum, { log, size }) => sum + Math.max(0, size - (mark?.logs[log]?.size ?? 0)), 0)
}

function describeMark(
  { isFull, key }: Marking,
  mark: AuditMark | undefined,
  refused: string | undefined,
  isClean: boolean,
): AuditCheck {
  const began = isFull
    ? 'everything was checked'
    : `everything was checked, as the mark of another does not count: ${refused}`
  const from = mark === undefined ? began : `went on from the clean audit of ${mark.at}`
  const kind = key === undefined ? 'a mark that is not signed, since SLUICE_LOG_KEY is not set' : 'a signed mark'
  return { name: 'how far the audit went', ok: true, detail: `${from}; left ${isClean ? kind : 'no mark'}` }
}

/** Verifies the whole book by itself, without Redis and the chain. @throws errors of PostgreSQL */
export function auditBook(pool: Pool, limits: Limits): Promise<AuditCheck[]> {
  return inWorkspace(pool, false, (client) => checkBook(client, undefined, new Progress(undefined), limits))
}
