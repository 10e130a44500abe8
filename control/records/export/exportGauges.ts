import { HOUR_MS } from '../../../contract/api/time.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { type GaugeGroup, gaugeGroup } from '../../runtime/metrics/metricGroups.ts'
import { hourOf } from './exportFile.ts'

const READ = `
  SELECT p.hour, f.name, f.failures FROM export_progress p LEFT JOIN LATERAL (
    SELECT name, failures FROM export_files WHERE written_at IS NULL ORDER BY id LIMIT 1
  ) f ON true`

/**
 * How far the export is behind, whichever control writes it.
 * @returns the time since the end of the first hour that has files to plan or to write, in milliseconds, 0 for none; and the
 *   failed attempts at the next file
 */
export async function sampleExport(db: Queryable, nowMs: number): Promise<{ lagMs: number; failures: number }> {
  const found = await db.query<{ hour: number; name: string | null; failures: number | null }>(READ)
  const { hour: planned = -1, name = null, failures = null } = found.rows[0] ?? {}
  // The first export of a book has no hour before its first file.
  const unplanned = planned < 0 ? Infinity : planned + 1
  const oldest = Math.min(unplanned, name === null ? Infinity : hourOf(name))
  return { lagMs: Math.max(0, nowMs - (oldest + 1) * HOUR_MS), failures: failures ?? 0 }
}

/** How far the export is behind, as metrics. */
export function exportGauges(db: Queryable): GaugeGroup {
  return gaugeGroup(
    {
      export_lag_seconds: 'Time since the end of the oldest hour that is not exported yet; 0 for none',
      export_failures: 'Failed attempts at storing the next file of the export',
    },
    async () => {
      const { lagMs, failures } = await sampleExport(db, Date.now())
      return { export_lag_seconds: lagMs / 1_000, export_failures: failures }
    },
  )
}
