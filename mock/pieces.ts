import type { Exchange } from './exchange.ts'
import type { Behaviour } from './grammar.ts'
import { keepOpen } from './keepOpen.ts'
import type { Timed, TimerWheel } from './wheel.ts'
import { writeSlices } from './writeSlices.ts'

/** An answer in pieces, and what is billed for it. */
export interface Pieces {
  readonly contentType: string
  readonly count: number
  piece(index: number): Buffer
  /** Written behind the last piece. */
  readonly end: string
  /** The quantity that is billed once so many pieces were sent; 0 of them are sent with the head. */
  billed(sent: number): number
}

/** Sends pieces, `delay` milliseconds apart; `cut`, `fin` and `hang` end them early. */
export class PieceStream implements Timed {
  dueMs = 0
  private readonly exchange: Exchange
  private readonly behaviour: Behaviour
  private readonly pieces: Pieces
  private readonly wheel: TimerWheel
  private readonly stopAt: number
  private started = false
  private sent = 0
  private bytes = 0

  constructor(exchange: Exchange, behaviour: Behaviour, pieces: Pieces, wheel: TimerWheel) {
    this.exchange = exchange
    this.behaviour = behaviour
    this.pieces = pieces
    this.wheel = wheel
    const { cut, fin, hang } = behaviour.integers
    this.stopAt = Math.min(pieces.count, ...[cut, fin, hang].filter((place) => place !== undefined))
  }

  start(): void {
    this.exchange.res.onWritable(() => {
      this.fire()
      return true
    })
    this.wait(this.behaviour.slowHeadersMs)
  }

  fire(): void {
    const { exchange, pieces } = this
    if (exchange.ended) return
    if (!this.started) {
      this.started = true
      exchange.res.cork(() => exchange.res.writeHeader('content-type', pieces.contentType))
      exchange.billed(pieces.billed(0), null)
    }
    if (this.sent >= this.stopAt) return this.finish()
    const piece = pieces.piece(this.sent)
    const ready = writeSlices(exchange.res, piece)
    this.sent++
    this.bytes += piece.length
    exchange.sent(200, this.sent, this.bytes, null)
    exchange.billed(pieces.billed(this.sent), null)
    if (ready) this.wait(this.behaviour.delayMs)
    else keepOpen(exchange)
  }

  private finish(): void {
    const { cut, fin, hang } = this.behaviour.integers
    if (this.sent < this.pieces.count || [cut, fin, hang].includes(this.sent)) {
      if (hang === this.sent) return
      if (fin === this.sent) return this.exchange.end('cut', '')
      return this.exchange.destroy()
    }
    this.exchange.end('complete', this.pieces.end)
  }

  private wait(ms: number): void {
    if (ms === 0) {
      setImmediate(() => this.fire())
      return
    }
    this.dueMs = this.wheel.nowMs() + ms
    this.wheel.add(this)
  }
}
