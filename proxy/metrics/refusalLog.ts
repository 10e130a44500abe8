import type { Logger } from 'pino'
import { logEvent } from '../logEvents.ts'
import type { MetricsLimits } from './limits.ts'

/**
 * Logs the id of every request that was answered with an error, many in one line, so that a flood of refusals does not become
 * a flood of lines.
 */
export class RefusalLog {
  private readonly log: Logger
  private readonly limits: Pick<MetricsLimits, 'refusalLogMs' | 'refusalLogIdsMax'>
  private readonly gathered = new Map<string, string[]>()
  private timer: NodeJS.Timeout | undefined

  constructor(log: Logger, limits: Pick<MetricsLimits, 'refusalLogMs' | 'refusalLogIdsMax'>) {
    this.log = log
    this.limits = limits
  }

  /** @param error the row of the error table */
  note(error: string, requestId: string): void {
    const ids = this.gathered.get(error)
    if (ids === undefined) this.gathered.set(error, [requestId])
    else ids.push(requestId)
    if (ids !== undefined && ids.length >= this.limits.refusalLogIdsMax) {
      this.gathered.delete(error)
      this.write(error, ids)
    }
    this.timer ??= setTimeout(() => this.stop(), this.limits.refusalLogMs)
  }

  /** Writes what is gathered. */
  stop(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    for (const [error, ids] of this.gathered) this.write(error, ids)
    this.gathered.clear()
  }

  private write(error: string, requestIds: readonly string[]): void {
    logEvent(this.log, 'requests_refused', { error, requestIds })
  }
}
