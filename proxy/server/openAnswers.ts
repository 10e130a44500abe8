import { checkDeadlines } from '../checkDeadlines.ts'
import type { HttpResponse } from './uws.ts'

/**
 * The server package silently closes a connection whose client, for 8 to 12 seconds, takes nothing of an answer or sends less than
 * 160 kB of a body. That timer is restarted at this interval for those that are within the gateway's own timeouts.
 */
export const KEEP_OPEN_MS = 4_000

/** An answer that its client may take slower than it comes. */
export interface OpenAnswer {
  /** Since when its client takes nothing, of `performance.now()`; 0 while it does. */
  readonly stalledAtMs: number
  readonly res: HttpResponse
}

/** The streams and large answers that are under way: keeps the connections of clients that read slowly, each up to a limit. */
export class OpenAnswers {
  private readonly stallMs: number
  private readonly open = new Set<OpenAnswer>()
  private timer: NodeJS.Timeout | undefined

  /** @param stallMs how long a client may take nothing */
  constructor(stallMs: number) {
    this.stallMs = stallMs
  }

  add(answer: OpenAnswer): void {
    this.open.add(answer)
    this.timer ??= checkDeadlines(Math.min(KEEP_OPEN_MS, this.stallMs), (nowMs) => this.check(nowMs)).unref()
  }

  remove(answer: OpenAnswer): void {
    this.open.delete(answer)
  }

  stop(): void {
    clearInterval(this.timer)
    this.timer = undefined
  }

  private check(nowMs: number): void {
    if (this.open.size === 0) this.stop()
    for (const { res, stalledAtMs } of this.open) {
      if (stalledAtMs > 0 && nowMs - stalledAtMs >= this.stallMs) {
        res.close()
      } else {
        // Pausing stops the server package's timer, and resuming restarts it.
        res.pause()
        res.resume()
      }
    }
  }
}
