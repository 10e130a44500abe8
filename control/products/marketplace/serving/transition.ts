import { type Actor, recordActivity } from '../../../runtime/activity/activity.ts'
import type { Client } from '../../../runtime/db/pool.ts'
import type { AdmissionState, ProviderAdmission } from './admission.ts'

/** A change of an admission's state. */
export interface Transition {
  readonly to: AdmissionState
  /** Why, for the owner, the operator and the public list; '' for a return to service. */
  readonly reason: string
  readonly suspensions: number
  /** When the suspension ends by itself; null without a suspension or without an end. */
  readonly resumesAtMs: number | null
  /** The measurements, for the audit trail. */
  readonly measured?: Readonly<Record<string, number>>
}

const TYPE_OF: Readonly<Record<AdmissionState, string>> = {
  probation: 'provider.probation',
  serving: 'provider.serving',
  suspended: 'provider.suspended',
  removed: 'provider.retired',
}

/**
 * Writes a change with its entry in the owner's audit trail, in the caller's transaction, which has locked the row. The
 * proxies are notified by `syncServing`.
 */
export async function changeState(
  client: Client,
  actor: Actor,
  admission: ProviderAdmission,
  { to, reason, suspensions, resumesAtMs, measured }: Transition,
): Promise<void> {
  await client.query(
    `UPDATE provider_admissions SET state = $2, reason = $3, suspensions = $4, resumes_at = $5, state_at = now(),
       suspended_ms = suspended_ms +
         CASE WHEN state = 'suspended' THEN (extract(epoch FROM now() - state_at) * 1000)::bigint ELSE 0 END
     WHERE id = $1`,
    [admission.id, to, reason, suspensions, resumesAtMs === null ? null : new Date(resumesAtMs)],
  )
  const { accountId, providerId: target, model } = admission
  const details = { model, from: admission.state, ...(reason !== '' && { reason }), ...(measured && { measured }) }
  await recordActivity(client, actor, [{ accountId, type: TYPE_OF[to], target, details }])
}
