import type { Limits } from '../limits.ts'
import type { PendingEnding } from './ending.ts'

export interface SettlementRetriesOptions {
  readonly limits: Limits
  readonly connected: () => boolean
  /** Sends some and resolves when each is accepted or added here again; true when Redis took them. It never rejects. */
  readonly send: (pendings: readonly PendingEnding[]) => Promise<boolean>
  /** An ending has waited too long for its request to wait with it. */
  readonly onDelayed: (pending: PendingEnding) => void
}

/**
 * Endings that Redis did not take, tried again in the order they came: only over a connection, one call's worth at a
 * time, so that a Redis that hangs is asked once and not for the whole queue, and with a growing pause in between.
 */
export class SettlementRetries {
  private readonly options: SettlementRetriesOptions
  private queue: PendingEnding[] = []
  private timer: NodeJS.Timeout | undefined
  private underWay = false
  private stopped = false
  private pauseMs: number

  constructor(options: SettlementRetriesOptions) {
    this.options = options
    this.pauseMs = options.limits.settleRetryMs
  }

  get size(): number {
    return this.queue.length
  }

  get pendings(): readonly PendingEnding[] {
    return this.queue
  }

  add(pending: PendingEnding): void {
    this.queue.push(pending)
    this.schedule()
  }

  stop(): void {
    this.stopped = true
    clearTimeout(this.timer)
  }

  private schedule(): void {
    if (this.stopped || this.underWay || this.timer !== undefined || this.queue.length === 0) return
    this.timer = setTimeout(() => {
      this.timer = undefined
      void this.round()
    }, this.pauseMs)
  }

  private async round(): Promise<void> {
    this.underWay = true
    this.notifyDelayed()
    const { settleRetryMs, settleRetryMaxMs } = this.options.limits
    if (this.options.connected()) {
      const taken = await this.sendOnce()
      this.pauseMs = taken ? settleRetryMs : Math.min(this.pauseMs * 2, settleRetryMaxMs)
    } else {
      this.pauseMs = settleRetryMs
    }
    this.underWay = false
    this.schedule()
  }

  /** Each ending that is here now is sent once, as long as the connection stands. */
  private async sendOnce(): Promise<boolean> {
    const { limits, connected, send } = this.options
    let left = this.queue.length
    let taken = true
    while (left > 0 && connected() && !this.stopped) {
      const some = this.queue.splice(0, Math.min(left, limits.holdBatchMax))
      left -= some.length
      if (!(await send(some))) taken = false
    }
    return taken && left <= 0
  }

  private notifyDelayed(): void {
    const { limits, onDelayed } = this.options
    const dueMs = Date.now() - limits.settleTimeoutMs
    for (const pending of this.queue) {
      if (pending.waiter !== null && pending.sinceMs <= dueMs) onDelayed(pending)
    }
  }
}
