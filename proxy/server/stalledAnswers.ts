import { checkDeadlines } from '../checkDeadlines.ts'

/**
 * The server package silently closes a connection whose client, for 8 to 12 seconds, takes nothing of an answer or sends less than
 * 160 kB of a body. That timer is restarted at this interval for those that are within the gateway's own timeouts.
 */
export const KEEP_OPEN_MS = 4_000

/** An answer of which its client takes no more for the moment. */
export interface StalledAnswer {
  readonly stalledAtMs: number
  keepOpen(): void
  /** Its client has taken nothing for too long. */
  giveUp(): void
}

/** Keeps the connections of clients that read slowly, each up to a limit. */
export class StalledAnswers {
  private readonly stallMs: number
  private readonly open = new Set<StalledAnswer>()
  private timer: NodeJS.Timeout | undefined

  /** @param stallMs how long a client may take nothing */
  constructor(stallMs: number) {
    this.stallMs = stallMs
  }

  add(answer: StalledAnswer): void {
    this.open.add(answer)
    this.timer ??= checkDeadlines(Math.min(KEEP_OPEN_MS, this.stallMs), (nowMs) => this.check(nowMs)).unref()
  }

  remove(answer: StalledAnswer): void {
    this.open.delete(answer)
  }

  stop(): void {
    clearInterval(this.timer)
    this.timer = undefined
  }

  private check(nowMs: number): void {
    if (this.open.size === 0) this.stop()
    for (const answer of [...this.open]) {
      if (nowMs - answer.stalledAtMs >= this.stallMs) answer.giveUp()
      else answer.keepOpen()
    }
  }
}
