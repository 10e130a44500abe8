import { type LeaseRecord, unitsOf } from '../admission/leaseRecord.ts'
import { type AuditCheck, Faults } from './check.ts'
import type { AuditLimits } from './limits.ts'

/** How long the leases of a proxy process may stay out beyond the heartbeat timeout after which it counts as dead. */
const GRACE_MS = 60_000

/** Checks that each lease has an owner that is alive, or was a moment ago, and can return it. */
export function checkLeaseOwners(
  leases: readonly LeaseRecord[],
  beats: ReadonlyMap<string, number>,
  nowMs: number,
  limits: AuditLimits,
): AuditCheck {
  const faults = new Faults()
  let units = 0
  for (const lease of leases) {
    units += unitsOf(lease)
    const beat = beats.get(lease.owner)
    const what = `${unitsOf(lease)} units of ${lease.accountId} are out with ${lease.owner}`
    if (beat === undefined) faults.add(`${what}, which is unknown`)
    else if (nowMs - beat > limits.heartbeatTimeoutMs + GRACE_MS) faults.add(`${what}, silent since ${beat}`)
  }
  const owners = new Set(leases.map((lease) => lease.owner)).size
  return faults.check(
    'every lease has a living owner',
    `${units} units out in ${leases.length} leases of ${owners} owners`,
  )
}
