import type { Redis } from '../../contract/wire/redis.ts'
import type { NoteKey } from '../book/checkpoint/noteKey.ts'
import { HEADS_LOG } from '../book/usagelog/head.ts'
import type { Client, Pool } from '../runtime/db/pool.ts'
import { together } from '../runtime/db/together.ts'
import { checkAdmission } from './admissionChecks.ts'
import { checkArchiveFiles } from './archiveChecks.ts'
import { attempt, attemptIn, broken } from './attempt.ts'
import { checkAttested } from './attestedChecks.ts'
import { type AuditMark, bookedUntil, readMark, writeMark } from './auditMark.ts'
import { checkBook } from './bookChecks.ts'
import { checkCatalogs } from './catalogChecks.ts'
import { checkChain } from './chainChecks.ts'
import type { AuditCheck } from './check.ts'
import { checkCheckpoints } from './checkpointChecks.ts'
import type { AuditLimits } from './limits.ts'
import { type OnProgress, Progress } from './progress.ts'
import { checkRates } from './rateChecks.ts'
import { checkAttestations } from './reserveChecks.ts'
import { checkSheets } from './sheetChecks.ts'
import { checkStandardRates } from './standardRateChecks.ts'
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
  /** The folder of archived months, whose files are compared when everything is checked. */
  readonly archiveDir?: string | undefined
  /** Without it all is checked and no mark is left. */
  readonly marking?: Marking | undefined
  readonly onProgress?: OnProgress | undefined
}

/** The parts that the checks of one audit share. */
interface Scope {
  /** To continue from. */
  readonly mark: AuditMark | undefined
  readonly progress: Progress
  readonly limits: AuditLimits
  readonly archiveDir: string | undefined
}

/** Checks that read the audit's snapshot over one connection; the name is reported when they end with an error. */
type CheckRow = readonly [name: string, check: (client: Client, scope: Scope) => Promise<AuditCheck[]>]

/** Of receipts and their logs; read in parallel to the charges, over another connection that shares the snapshot. */
const LOG_CHECKS: readonly CheckRow[] = [
  [
    'standard rates are those of the price sheets',
    (reader, { mark, limits }) => checkStandardRates(reader, mark, limits),
  ],
  ['receipts are as their price sheets say', (reader, { mark, limits }) => checkRates(reader, mark, limits)],
  ['private requests are attested', (reader, { mark, limits }) => checkAttested(reader, mark, limits)],
  [
    'usage logs equal the receipts',
    (reader, { mark, progress, limits }) => checkUsageLogs(reader, mark, progress, limits),
  ],
  ['checkpoints sign the logs', (reader, { mark, limits }) => checkCheckpoints(reader, mark, limits)],
]

/** Checks that are made when those of the book and of the logs are through. */
const CHECKS: readonly CheckRow[] = [
  ['price sheets are as they were published', (client) => checkSheets(client)],
  [
    'archives of receipts have their digests',
    async (client, { archiveDir, mark }) =>
      archiveDir === undefined || mark !== undefined ? [] : checkArchiveFiles(client, archiveDir),
  ],
  ['signed catalogs follow each other', (client) => checkCatalogs(client)],
  ['attestations follow each other', (client, { limits }) => checkAttestations(client, limits)],
]

/**
 * Verifies the invariants of the book, of the usage logs and their checkpoints, of the signed catalogs, and that the admission
 * state agrees with the book. Reads in pages; may run during traffic. When all hold, it leaves a mark, from which the next
 * audit continues.
 * A check that ends with an error is reported as broken, and the others go on.
 * @returns every check, including those that hold
 * @throws the error of a connection to PostgreSQL that is lost
 */
export async function runAudit(
  pool: Pool,
  redis: Redis,
  limits: AuditLimits,
  { rpcUrl, archiveDir, marking, onProgress }: AuditOptions = {},
): Promise<AuditCheck[]> {
  const since = await bookedUntil(pool)
  return inWorkspace(pool, marking !== undefined, async (client) => {
    const { mark, refused } = await markFor(client, marking, limits)
    const progress = new Progress(onProgress)
    // Once for the charges and once for the logs.
    progress.expect(2 * (await countNew(client, mark)))
    const scope = { mark, progress, limits, archiveDir }
    const checks = await checkBoth(pool, client, scope)
    for (const [name, check] of CHECKS) checks.push(...(await inPart(client, name, () => check(client, scope))))
    checks.push(...(await attempt('admission equals the book', () => checkAdmission(pool, redis, limits))))
    checks.push(...(await attempt('the chain equals the book', () => checkChain(pool, rpcUrl, limits))))
    if (marking === undefined) return checks
    if (checks.every(({ ok }) => ok)) checks.push(...(await leaveMark(client, marking, mark, since, limits)))
    return [
      ...checks,
      describeMark(
        marking,
        mark,
        refused,
        checks.every(({ ok }) => ok),
      ),
    ]
  })
}

/** @returns a broken check if the mark could not be written */
function leaveMark(
  client: Client,
  { key }: Marking,
  mark: AuditMark | undefined,
  since: string,
  limits: AuditLimits,
): Promise<AuditCheck[]> {
  return inPart(client, 'the audit leaves a mark', async () => {
    await writeMark(client, key, mark, since, limits)
    return []
  })
}

function inPart(client: Client, name: string, work: () => Promise<AuditCheck[]>): Promise<AuditCheck[]> {
  return attemptIn(client, work, (error) => [broken(name, error)])
}

/** Checks the charges and, in parallel, the logs: each keeps the database as busy as one connection can. */
async function checkBoth(pool: Pool, client: Client, scope: Scope): Promise<AuditCheck[]> {
  const snapshot = await exportSnapshot(client)
  const logs = inReader(pool, snapshot, async (reader) => {
    const checks: AuditCheck[] = []
    for (const [name, check] of LOG_CHECKS) checks.push(...(await inPart(reader, name, () => check(reader, scope))))
    return checks
  })
  return (await together([checkBook(client, scope.mark, scope.progress, scope.limits), logs])).flat()
}

async function markFor(client: Client, marking: Marking | undefined, limits: AuditLimits) {
  if (marking === undefined || marking.isFull) return { mark: undefined, refused: undefined }
  return attemptIn<Awaited<ReturnType<typeof readMark>>>(
    client,
    () => readMark(client, marking.key, limits),
    (error) => ({ refused: `it cannot be read: ${(error as Error).message}` }),
  )
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
export function auditBook(pool: Pool, limits: AuditLimits): Promise<AuditCheck[]> {
  return inWorkspace(pool, false, async (client) => [
    ...(await checkBook(client, undefined, new Progress(undefined), limits)),
    ...(await checkStandardRates(client, undefined, limits)),
  ])
}
