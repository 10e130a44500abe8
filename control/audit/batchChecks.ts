import type { HoldRecord } from '../admission/holdRecord.ts'
import { strayAmong } from '../batch/strayHolds.ts'
import type { Client } from '../runtime/db/pool.ts'
import { type AuditCheck, Faults, type Invariant } from './check.ts'
import type { AuditLimits } from './limits.ts'

/** Invariants of batch jobs in the book. */
export const batchInvariants = (limits: AuditLimits): readonly Invariant[] => [
  {
    name: 'every batch job is charged as its receipt says',
    checked: `SELECT count(*) || ' jobs, ' || count(*) FILTER (WHERE ended_at_ms IS NULL) || ' of them open'
              FROM batch_jobs`,
    faults: `
      SELECT j.id || ' is ' || j.state || ' and was charged ' || coalesce(j.charge_units, 0) || ', its receipt ' ||
        r.charge_units
      FROM batch_jobs j JOIN ended_requests r ON r.request_id = j.id
      WHERE j.state IN ('opening', 'queued', 'grouped', 'calling')
        OR (j.ended_at_ms IS NOT NULL AND coalesce(j.charge_units, 0) <> r.charge_units)
        OR (j.state = 'done') <> (r.status IN ('ok', 'partial')) AND j.ended_at_ms IS NOT NULL
      UNION ALL
      SELECT j.id || ' is ' || j.state || ', was charged ' || j.charge_units || ' and has no receipt' FROM batch_jobs j
      WHERE j.charge_units > 0 AND j.ended_at_ms < extract(epoch FROM now()) * 1000 - ${limits.holdAgeMaxMs}
        AND NOT EXISTS (SELECT FROM ended_requests r WHERE r.request_id = j.id)`,
  },
]

/** A batch job has a hold exactly as long as it is open. */
export async function checkBatchHolds(
  client: Client,
  holds: readonly HoldRecord[],
  nowMs: number,
  limits: AuditLimits,
): Promise<AuditCheck> {
  const faults = new Faults()
  for (let i = 0; i < holds.length; i += limits.auditPageMax) {
    const page = holds.slice(i, i + limits.auditPageMax)
    for (const hold of await strayAmong(client, page)) faults.add(`${hold.requestId} is held and no open job has it`)
    for (const { requestId, heldAtMs } of page) {
      const isOld = nowMs - heldAtMs > limits.batchLifetimeMs + limits.holdAgeMaxMs
      if (isOld) faults.add(`${requestId} is held since ${heldAtMs}`)
    }
  }
  return faults.check('every hold of a batch has its job', `${holds.length} holds`)
}
