import { checkDeadlineIn } from './checkDeadlines.ts'

/** After so many checks that found nothing to do the next ones are seldom. */
const QUIET_CHECKS = 16

export interface RestingOptions {
  /** The interval of the checks, in milliseconds. */
  readonly everyMs: number
  /** The interval while there is nothing to do, in milliseconds. */
  readonly restMs: number
  /**
   * @param nowMs as of `checkDeadlines`
   * @param isResting the check before was `restMs` ago
   * @returns whether there was something to do, or will be without a call of `wake`
   */
  readonly check: (nowMs: number, isResting: boolean) => boolean
}

/**
 * Checks periodically as `checkDeadlines` does, but seldom while there is nothing to do: a wake-up of an idle process costs more
 * than most checks.
 */
export class RestingChecks {
  private readonly options: RestingOptions
  private timer: NodeJS.Timeout | undefined
  private isStopped = false
  private quietChecks = 0
  private readonly run = (nowMs: number): void => {
    if (this.isStopped) return
    const isBusy = this.options.check(nowMs, this.isResting)
    this.quietChecks = isBusy ? 0 : this.quietChecks + 1
    this.arm()
  }

  constructor(options: RestingOptions) {
    this.options = options
    this.arm()
  }

  /** There is something to do again; the next check is at most `everyMs` away. */
  wake(): void {
    const { isResting } = this
    this.quietChecks = 0
    if (isResting) this.arm()
  }

  stop(): void {
    this.isStopped = true
    clearTimeout(this.timer)
  }

  private get isResting(): boolean {
    return this.quietChecks >= QUIET_CHECKS
  }

  private arm(): void {
    const { everyMs, restMs } = this.options
    clearTimeout(this.timer)
    this.timer = checkDeadlineIn(this.isResting ? restMs : everyMs, this.run)
  }
}
