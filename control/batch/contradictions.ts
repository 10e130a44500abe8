import type { Logger } from 'pino'
import { logEvent } from '../runtime/logEvents.ts'
import type { LabelledTotal } from '../runtime/metrics/metricGroups.ts'

/** Counts the results of batch jobs whose reported usage contradicts itself, and logs them. */
export class Contradictions {
  private readonly log: Logger
  private readonly byProvider = new Map<string, number>()

  constructor(log: Logger) {
    this.log = log
  }

  /** Since the process started, as a metric. */
  readonly total: LabelledTotal = {
    name: 'batch_usage_contradictions',
    help: 'Results of batch jobs whose reported usage contradicts itself, by provider',
    labels: ['provider'],
    read: () => [...this.byProvider].map(([provider, count]) => ({ labels: { provider }, count })),
  }

  /** @param where the job or the group that the results are of */
  note(provider: string, jobs: number, where: { readonly job: string } | { readonly group: string }): void {
    if (jobs === 0) return
    this.byProvider.set(provider, (this.byProvider.get(provider) ?? 0) + jobs)
    logEvent(this.log, 'batch_usage_contradicted', { provider, jobs, ...where })
  }
}
