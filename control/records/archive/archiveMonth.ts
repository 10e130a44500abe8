import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from '../../../contract/wire/redis.ts'
import { countOutcomes } from '../../book/statistics/countOutcomes.ts'
import { countReceipts } from '../../book/statistics/countReceipts.ts'
import { storeArchivedLeaves } from '../../book/usagelog/archivedLeaves.ts'
import { tryLock } from '../../runtime/db/locks.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import type { RecordsLimits } from '../limits.ts'
import { ArchiveError } from './archiveError.ts'
import { type Manifest, writeArchive } from './archiveFile.ts'
import { checkArchive } from './checkArchive.ts'
import { dropMonth } from './dropMonth.ts'
import type { LeafRun } from './leafRuns.ts'
import { keptMonth, requireQuiet } from './refusals.ts'

export interface ArchiveOptions {
  readonly pool: Pool
  readonly redis: Redis
  /** The folder of the archives. */
  readonly dir: string
  readonly limits: RecordsLimits
}

/** Codes of PostgreSQL for a lock that was not given in time, and for a circle of such waits. */
const BUSY = new Set(['55P03', '40P01'])

/**
 * Puts a past month of receipts into a file with their leaves, checks the file against the usage logs, and takes the month out
 * of the database. An interruption leaves the month either in the database, and the call has to be repeated, or only in the
 * file, and it is done.
 * @param month such as 2027-01
 * @returns the manifest of the file
 * @throws ArchiveError with the reason that prevents it
 */
export async function archiveMonth(options: ArchiveOptions, month: string): Promise<Manifest> {
  const { pool, redis, dir, limits } = options
  const archived = await tryLock(pool, 'receiptArchive', async () => {
    const kept = await keptMonth(pool, month)
    await requireQuiet(pool, redis, kept, limits)
    const manifest = await writeArchive(pool, kept, dir, limits)
    const leaves = new LeafKeeper(pool, month, limits)
    await checkArchive(pool, join(dir, manifest.file), manifest, (run) => leaves.add(run))
    await leaves.flush()
    // All receipts in the file are counted then; a receipt that arrives later makes `dropMonth` fail.
    while (await countReceipts(pool, limits));
    while (await countOutcomes(pool, limits));
    await drop(() => dropMonth(pool, kept, manifest, limits), limits)
    return manifest
  })
  if (archived === undefined) throw new ArchiveError('another process archives a month at this time')
  return archived
}

/** Retries until no other transaction holds the receipts. */
async function drop(work: () => Promise<void>, limits: RecordsLimits): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!BUSY.has(String((error as { code?: unknown }).code))) throw error
      if (attempt >= limits.archiveLockTries) {
        throw new ArchiveError('the file is written, but receipts are read all the time; archive the month again later')
      }
      await sleep(limits.archiveLockMs)
    }
  }
}

/** Stores the leaves of a month for the usage logs. Leaves never change, so stored leaves do no harm if the rest fails. */
class LeafKeeper {
  private readonly pool: Pool
  private readonly month: string
  private readonly limits: RecordsLimits
  private runs: LeafRun[] = []
  private count = 0

  constructor(pool: Pool, month: string, limits: RecordsLimits) {
    this.pool = pool
    this.month = month
    this.limits = limits
  }

  async add(run: LeafRun): Promise<void> {
    this.runs.push(run)
    this.count += run.leaves.length
    if (this.count >= this.limits.archivePageMax) await this.flush()
  }

  async flush(): Promise<void> {
    if (this.runs.length === 0) return
    await storeArchivedLeaves(this.pool, this.month, this.runs)
    this.runs = []
    this.count = 0
  }
}
