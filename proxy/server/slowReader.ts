import type { OpenAnswer, OpenAnswers } from './openAnswers.ts'
import type { HttpResponse } from './uws.ts'

/** The functions of its exchange that the client of a stream uses. */
export interface StreamWriter {
  /** @returns false when the server package keeps some of the bytes */
  send(bytes: Uint8Array): boolean
  /** The client can take bytes again. */
  drained(): void
  /** The client can take the end of the stream. */
  sendLast(last: Uint8Array): void
}

const nothing = (): void => undefined

/**
 * The client of a stream, which may take bytes slower than they come. The server package says only of a write whether it keeps
 * some of the bytes, so that those that come while it does are kept here, and are written piece by piece.
 */
export class SlowReader implements OpenAnswer {
  stalledAtMs = 0
  readonly res: HttpResponse
  private readonly answers: OpenAnswers
  private readonly writer: StreamWriter
  private readonly pieces: Buffer[] = []
  private last: Buffer | undefined

  constructor(res: HttpResponse, answers: OpenAnswers, writer: StreamWriter) {
    this.res = res
    this.answers = answers
    this.writer = writer
    answers.add(this)
    res.onWritable(() => {
      this.resume()
      return true
    })
  }

  /** The end of its stream is kept for it. */
  get isEnding(): boolean {
    return this.last !== undefined
  }

  /** It takes no more for now. */
  stall(): void {
    this.stalledAtMs = performance.now()
  }

  /** @returns false for a client that takes bytes now; else they are kept for it */
  keep(bytes: Uint8Array): boolean {
    if (this.stalledAtMs === 0) return false
    this.pieces.push(Buffer.from(bytes))
    return true
  }

  /**
   * Keeps the end of the stream while the client takes nothing: once an answer has ended, nothing keeps its connection from being
   * closed before all of it has left.
   * @returns false for a client that takes it now
   */
  keepLast(bytes: Uint8Array): boolean {
    if (this.stalledAtMs === 0) return false
    this.last ??= Buffer.from(bytes)
    return true
  }

  /** It is not waited for any more. */
  release(): void {
    this.stalledAtMs = 0
    this.answers.remove(this)
  }

  /**
   * Ends the stream when all before its end has left, which the first byte of the end shows; else the rest of it is kept.
   * @param bytes at least two
   * @returns whether it has ended
   */
  endOrKeep(bytes: Uint8Array): boolean {
    let isTaken = false
    this.res.cork(() => {
      isTaken = this.res.write(bytes.subarray(0, 1))
      if (isTaken) this.res.end(bytes.subarray(1))
    })
    if (isTaken) return true
    this.stall()
    this.keepLast(bytes.subarray(1))
    return false
  }

  private resume(): void {
    for (let piece = this.pieces.shift(); piece !== undefined; piece = this.pieces.shift()) {
      if (this.writer.send(piece)) continue
      this.stall()
      return
    }
    this.stalledAtMs = 0
    const { last } = this
    this.last = undefined
    if (last !== undefined) {
      this.writer.sendLast(last)
      return
    }
    // The end of a cork writes what the server package kept of a write, which it otherwise does at the next write only.
    this.res.cork(nothing)
    this.writer.drained()
  }
}
