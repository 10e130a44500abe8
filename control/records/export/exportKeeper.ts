import type { Logger } from 'pino'
import { tryLock } from '../../runtime/db/locks.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { logEvent } from '../../runtime/logEvents.ts'
import { Loop } from '../../runtime/loop.ts'
import type { RecordsLimits } from '../limits.ts'
import { type ExportFile, type ExportForm, nextExport, noteExported, noteFailed, planExport } from './exportFile.ts'
import type { ExportStore } from './exportStore.ts'
import { exportTexts } from './exportTexts.ts'

export interface ExportOptions {
  readonly pool: Pool
  readonly log: Logger
  readonly store: ExportStore
  readonly form: ExportForm
  readonly limits: RecordsLimits
}

/** Exports receipts and their sums after each hour. One control does so at a time. */
export function exportKeeper(options: ExportOptions): Loop {
  return new Loop('export', options.limits.exportMs, options.log, (signal) =>
    exportHours(options, Date.now(), () => signal.aborted),
  )
}

/**
 * Plans the files of the hours that have ended, and writes the next one that is not written.
 * @param isStopped whether to plan no further file
 * @returns whether there may be another one to write
 */
export async function exportHours(
  options: ExportOptions,
  nowMs: number,
  isStopped: () => boolean = () => false,
): Promise<boolean> {
  const { pool, form, limits } = options
  const isMore = await tryLock(pool, 'exports', async () => {
    while (!isStopped() && (await planExport(pool, form, nowMs, limits)));
    const file = await nextExport(pool)
    if (file === undefined) return false
    await writeFile(options, file)
    return true
  })
  return isMore ?? false
}

async function writeFile({ pool, log, store, limits }: ExportOptions, file: ExportFile): Promise<void> {
  const texts = await exportTexts(pool, file, limits)
  try {
    await store.put(nameOf('receipts', file), texts.receipts)
    await store.put(nameOf('usage', file), texts.usage)
  } catch (error) {
    // Why it could not be stored is to be logged, even if the count of failures fails as well.
    await noteFailed(pool, file).catch(() => undefined)
    throw error
  }
  await noteExported(pool, file, texts.sums)
  logEvent(log, 'export_written', { file: file.name, receipts: texts.sums.receipts })
}

/** Such as receipts/2027-01-31/receipts-2027-01-31T14-1.csv.gz. */
function nameOf(kind: 'receipts' | 'usage', { name, form }: { name: string; form: ExportForm }): string {
  return `${kind}/${name.slice(0, 'YYYY-MM-DD'.length)}/${kind}-${name}.${form}.gz`
}
