import type { Logger } from 'pino'
import type { ErrorCode } from '../../../../contract/errors/errors.ts'
import { logEvent } from '../../../runtime/logEvents.ts'
import type { LabelledTotal } from '../../../runtime/metrics/metricGroups.ts'
import type { PaymentsLimits } from '../limits.ts'

/** Counts refused payments by code, for the metrics, and logs a summary while there are any. */
export class RefusalCounts {
  private readonly log: Logger
  private readonly totalByCode = new Map<string, number>()
  private sinceSummary = new Map<string, number>()
  private timer: NodeJS.Timeout | undefined
  private readonly limits: PaymentsLimits

  constructor(log: Logger, limits: PaymentsLimits) {
    this.limits = limits
    this.log = log
  }

  /** Since the process started, as a metric. */
  readonly total: LabelledTotal = {
    name: 'payments_refused',
    help: 'Refused payments by code',
    labels: ['code'],
    read: () => [...this.totalByCode].map(([code, count]) => ({ labels: { code }, count })),
  }

  note(code: ErrorCode): void {
    for (const counts of [this.totalByCode, this.sinceSummary]) counts.set(code, (counts.get(code) ?? 0) + 1)
    this.timer ??= setTimeout(() => this.summarize(), this.limits.paymentRefusalLogMs).unref()
  }

  /** Logs the refusals since the last summary. */
  summarize(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.sinceSummary.size === 0) return
    logEvent(this.log, 'payments_refused', { refused: Object.fromEntries(this.sinceSummary) })
    this.sinceSummary = new Map()
  }
}
