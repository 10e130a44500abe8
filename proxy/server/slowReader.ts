import type { StalledAnswer, StalledAnswers } from './stalledAnswers.ts'
import type { HttpResponse } from './uws.ts'

/** The client of a stream, once it may have to be waited for. */
export class SlowReader implements StalledAnswer {
  stalledAtMs = 0
  private readonly res: HttpResponse
  private readonly stalled: StalledAnswers
  private last: Buffer | undefined

  /** @param onReady called when the client can take bytes again, with the end that was kept for it */
  constructor(res: HttpResponse, stalled: StalledAnswers, onReady: (last: Buffer | undefined) => void) {
    this.res = res
    this.stalled = stalled
    res.onWritable(() => {
      this.release()
      const { last } = this
      this.last = undefined
      onReady(last)
      return true
    })
  }

  /** The end of its stream is kept for it. */
  get isEnding(): boolean {
    return this.last !== undefined
  }

  /** It takes no more for now. */
  stall(): void {
    if (this.stalledAtMs > 0) return
    this.stalledAtMs = performance.now()
    this.stalled.add(this)
  }

  /**
   * Keeps the end of the stream while the client takes nothing: once an answer has ended, nothing keeps its connection from being
   * closed before all of it has left.
   * @returns false for a client that takes it now
   */
  keep(bytes: Uint8Array): boolean {
    if (this.stalledAtMs === 0) return false
    this.last ??= Buffer.from(bytes)
    return true
  }

  /** It is not waited for. */
  release(): void {
    if (this.stalledAtMs === 0) return
    this.stalledAtMs = 0
    this.stalled.remove(this)
  }

  keepOpen(): void {
    // Pausing stops the server package's timer, and resuming restarts it.
    this.res.pause()
    this.res.resume()
  }

  giveUp(): void {
    this.res.close()
  }
}
