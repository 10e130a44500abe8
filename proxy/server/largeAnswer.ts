import type { OpenAnswer, OpenAnswers } from './openAnswers.ts'
import type { HttpResponse } from './uws.ts'

/**
 * Bytes that one cork takes as one or two chunks. The server package collects 16 KiB in a cork, and writes them with one call. Of a larger
 * write it loses all when the socket takes nothing of what is collected before it, as one does that has bytes on their way; a
 * socket without any takes a head.
 */
export const CORKED_BYTES_MAX = 16_320

/** Its client may not take it with the head. A character of a text takes up to three bytes. */
export function isLarge(body: string | Uint8Array): boolean {
  return body.length > (typeof body === 'string' ? CORKED_BYTES_MAX / 3 : CORKED_BYTES_MAX)
}

/**
 * A whole answer that its client may take slower than the gateway sends it. The server package closes the connections of slow
 * clients once it keeps the rest of an answer itself.
 */
export class LargeAnswer implements OpenAnswer {
  stalledAtMs = 0
  readonly res: HttpResponse
  private readonly answers: OpenAnswers
  private readonly totalBytes: number
  private readonly onEnded: () => void
  private body: Uint8Array

  /**
   * @param body may change once `begin` has returned
   * @param onEnded called when all of it was handed to the socket
   */
  constructor(res: HttpResponse, answers: OpenAnswers, body: string | Uint8Array, onEnded: () => void) {
    this.res = res
    this.answers = answers
    this.body = typeof body === 'string' ? Buffer.from(body) : body
    this.totalBytes = this.body.length
    this.onEnded = onEnded
  }

  /** Sends the head, and of the body as much as the client takes now. */
  begin(writeHead: () => void): void {
    let isDone = false
    this.res.cork(() => {
      writeHead()
      isDone = this.res.tryEnd(this.body, this.totalBytes)[1]
    })
    if (isDone) {
      this.onEnded()
      return
    }
    const fromBytes = this.res.getWriteOffset()
    this.body = Buffer.from(this.body.subarray(fromBytes))
    this.stalledAtMs = performance.now()
    this.answers.add(this)
    this.res.onWritable((offset) => this.resume(offset - fromBytes))
  }

  /** It is not waited for any more. */
  release(): void {
    this.answers.remove(this)
  }

  private resume(offset: number): boolean {
    this.stalledAtMs = performance.now()
    const [isOk, isDone] = this.res.tryEnd(this.body.subarray(offset), this.totalBytes)
    if (isDone) this.onEnded()
    return isOk
  }
}
