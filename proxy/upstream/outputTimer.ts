import type { Registered } from '../catalog/pricedItem.ts'
import { OUTPUT_TOKEN_MS } from './canaryWatch.ts'

/** The multiple of its bar that a registered provider may take for an output, before another route is asked. */
const OUTPUT_FACTOR = 2
/** The share of a request's time that an answer in one piece may take, so that another route has time for it as well. */
const TIME_SHARE = 0.5

/**
 * Waits for output of a registered provider: for the first of a stream and for each one after it, or for a whole answer. Bytes
 * are no output: comments, empty events and blanks would hold a client for as long as the provider likes.
 */
export class OutputTimer {
  private readonly waitMs: number
  private readonly onLate: () => void
  private timer: NodeJS.Timeout

  /**
   * @param outputTokensMax of an answer in one piece, which may take the time that they take; 0 for a stream
   * @param totalMs the time that the request has
   * @param onLate called when the output does not come in time
   */
  constructor({ firstOutputMaxMs }: Registered, outputTokensMax: number, totalMs: number, onLate: () => void) {
    const wantedMs = OUTPUT_FACTOR * firstOutputMaxMs + outputTokensMax * OUTPUT_TOKEN_MS
    this.waitMs = outputTokensMax === 0 ? wantedMs : Math.min(wantedMs, totalMs * TIME_SHARE)
    this.onLate = onLate
    this.timer = setTimeout(onLate, this.waitMs)
  }

  /** Output has arrived, or is awaited again; the next one has as long. */
  again(): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(this.onLate, this.waitMs)
  }

  stop(): void {
    clearTimeout(this.timer)
  }
}
