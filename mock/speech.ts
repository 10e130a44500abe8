import type { Exchange } from './exchange.ts'
import type { Behaviour } from './grammar.ts'
import type { Timed, TimerWheel } from './wheel.ts'

const PIECE_BYTES = 1_000
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
}

/** Speech as bytes: `chunks` pieces of `bytes` bytes, `delay` milliseconds apart; each piece holds its own number. */
export class Speech implements Timed {
  dueMs = 0
  private readonly exchange: Exchange
  private readonly behaviour: Behaviour
  private readonly fields: Readonly<Record<string, unknown>>
  private readonly wheel: TimerWheel
  private readonly pieceBytes: number
  private readonly stopAt: number
  private started = false
  private sent = 0

  constructor(exchange: Exchange, behaviour: Behaviour, fields: Readonly<Record<string, unknown>>, wheel: TimerWheel) {
    this.exchange = exchange
    this.behaviour = behaviour
    this.fields = fields
    this.wheel = wheel
    this.pieceBytes = behaviour.integers.bytes ?? PIECE_BYTES
    const { cut, fin, hang } = behaviour.integers
    this.stopAt = Math.min(behaviour.chunks, ...[cut, fin, hang].filter((place) => place !== undefined))
  }

  start(): void {
    this.exchange.res.onWritable(() => {
      this.fire()
      return true
    })
    this.wait(this.behaviour.slowHeadersMs)
  }

  fire(): void {
    if (this.exchange.ended) return
    this.exchange.res.cork(() => this.advance())
  }

  private advance(): void {
    if (!this.started) {
      this.started = true
      const format = String(this.fields['response_format'] ?? 'mp3')
      this.exchange.res.writeHeader('content-type', CONTENT_TYPES[format] ?? 'application/octet-stream')
      // The whole text is billed with the first piece.
      const characters = [...String(this.fields['input']), ...String(this.fields['instructions'] ?? '')].length
      this.exchange.billed(characters, null)
    }
    if (this.sent >= this.stopAt) return this.finish()
    const ready = this.exchange.res.write(Buffer.alloc(this.pieceBytes, this.sent % 256))
    this.sent++
    this.exchange.sent(200, this.sent, this.sent * this.pieceBytes, null)
    if (ready) this.wait(this.behaviour.delayMs)
  }

  private finish(): void {
    const { cut, fin, hang } = this.behaviour.integers
    if (this.sent < this.behaviour.chunks || [cut, fin, hang].includes(this.sent)) {
      if (hang === this.sent) return
      if (fin === this.sent) return this.exchange.end('cut', '')
      return this.exchange.destroy()
    }
    this.exchange.end('complete', '')
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
