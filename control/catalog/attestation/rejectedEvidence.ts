import { EVIDENCE_FAULTS, type EvidenceFault } from '../../evidence/evidenceError.ts'
import type { LabelledTotal } from '../../runtime/metrics/metricGroups.ts'

/** Why evidence of a provider was rejected: its fault, or there was no answer. */
const REJECTIONS = [...EVIDENCE_FAULTS, 'unreachable'] as const
export type Rejection = EvidenceFault | 'unreachable'

/** Rejected evidence by provider and reason, since the process began. */
export class RejectedEvidence {
  private readonly counts = new Map<string, Record<Rejection, number>>()

  /** A provider is asked for evidence from now on: its counts begin at zero, so that the first rejection shows as a rise. */
  track(provider: string): void {
    this.of(provider)
  }

  note(provider: string, reason: Rejection): void {
    this.of(provider)[reason]++
  }

  /** Every reason of every provider that was asked, as a metric. */
  readonly total: LabelledTotal = {
    name: 'evidence_rejected',
    help: 'Evidence of hardware for the private tier that was rejected or did not arrive, by provider and reason',
    labels: ['provider', 'reason'],
    read: () =>
      [...this.counts].flatMap(([provider, counts]) =>
        REJECTIONS.map((reason) => ({ labels: { provider, reason }, count: counts[reason] })),
      ),
  }

  private of(provider: string): Record<Rejection, number> {
    const known = this.counts.get(provider)
    if (known !== undefined) return known
    const counts = Object.fromEntries(REJECTIONS.map((reason) => [reason, 0])) as Record<Rejection, number>
    this.counts.set(provider, counts)
    return counts
  }
}
