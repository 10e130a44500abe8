import type { Exchange } from './exchange.ts'
import { contentLimit, echoText } from './exchange.ts'
import type { Behaviour } from './grammar.ts'
import { keepOpen } from './keepOpen.ts'
import { messagesPlanOf } from './messagesPlan.ts'
import type { AnswerPlan } from './plan.ts'
import { planOf } from './plan.ts'
import type { ChatBody } from './request.ts'
import type { ReportedUsage } from './usage.ts'
import { usageOf } from './usage.ts'
import type { Timed, TimerWheel } from './wheel.ts'
import { CORK_BYTES, writeSlices } from './writeSlices.ts'

const HEAD_BYTES = 500
const WRITE_OVERHEAD_BYTES = 16
/** Corks of an unpaced stream before other streams get a turn. */
const CORKS_PER_TURN = 8

/** One streamed answer. */
export class Stream implements Timed {
  dueMs = 0
  private readonly exchange: Exchange
  private readonly behaviour: Behaviour
  private readonly request: ChatBody
  private readonly plan: AnswerPlan
  private readonly wheel: TimerWheel
  private readonly echo: string | undefined
  private readonly total: number
  /** Content frames after which the behaviour breaks the stream off; `total` when it does not. */
  private readonly stopAt: number
  private readonly finishReason: string
  private started = false
  private sent = 0
  private blocked = false
  /** There is more to write now, in its own cork. */
  private more = false
  private corkedBytes = 0
  /** The next write is too large for any cork. */
  private large = false
  /** Every write now takes its own cork. */
  private single = false
  private readonly step = () => this.advance()

  constructor(exchange: Exchange, behaviour: Behaviour, request: ChatBody, wheel: TimerWheel) {
    this.exchange = exchange
    this.behaviour = behaviour
    this.request = request
    this.plan =
      request.kind === 'messages' ? messagesPlanOf(behaviour) : planOf(behaviour, request.usageAsked, request.kind)
    this.wheel = wheel
    this.echo = behaviour.echo ? echoText(exchange) : undefined
    const limit = contentLimit(behaviour, request)
    this.total = limit.frames
    this.finishReason = limit.finishReason
    const { cut, fin, hang, error_in_stream: failAt } = behaviour.integers
    this.stopAt = Math.min(this.total, ...[cut, fin, hang, failAt].filter((place) => place !== undefined))
  }

  /** Starts the answer; must run inside a cork. */
  start(): void {
    this.exchange.res.onWritable(() => {
      this.blocked = false
      this.run()
      return !this.blocked
    })
    if (this.behaviour.slowHeadersMs > 0) this.wait(this.behaviour.slowHeadersMs)
    else if (this.behaviour.flush) this.more = true
    else this.advance()
    this.runOn()
  }

  fire(): void {
    if (!this.blocked) this.run()
  }

  private run(): void {
    const corksMax = this.behaviour.flush ? 1 : CORKS_PER_TURN
    for (let corks = 0; corks < corksMax; corks++) {
      if (this.exchange.ended) return
      this.more = false
      this.corkedBytes = 0
      this.single = this.large
      if (this.single) this.advance()
      else this.exchange.res.cork(this.step)
      if (!this.more) return
    }
    this.runOn()
  }

  /** Whether this many bytes may be written now; otherwise they come next, in their own cork or in none. */
  private fits(bytes: number): boolean {
    const { split } = this.behaviour.integers
    const writes = split === undefined || split === 0 ? 1 : Math.ceil(bytes / split)
    const size = bytes + writes * WRITE_OVERHEAD_BYTES
    if (this.large || this.corkedBytes + size <= CORK_BYTES) {
      this.corkedBytes += size
      this.large = false
      return true
    }
    this.large = size > CORK_BYTES
    this.more = true
    return false
  }

  private runOn(): void {
    if (this.more) setImmediate(() => this.fire())
  }

  private wait(ms: number): void {
    this.dueMs = this.wheel.nowMs() + ms
    this.wheel.add(this)
  }

  private advance(): void {
    if (!this.started && !this.begin()) return
    const { batch, delayMs } = this.behaviour
    while (this.sent < this.stopAt) {
      const count = Math.min(batch, this.stopAt - this.sent)
      const bytes = this.contentBytes(count)
      if (!this.fits(bytes.length)) return
      this.sent += count
      this.blocked = !this.write(bytes)
      this.note(null)
      if (this.blocked) return keepOpen(this.exchange)
      if (delayMs > 0 && this.sent < this.stopAt) return this.pace(delayMs)
      if (this.behaviour.flush) {
        this.more = true
        return
      }
    }
    this.finish()
  }

  /** Writes head and first event; false when the first content is to wait. */
  private begin(): boolean {
    this.started = true
    const { res } = this.exchange
    res.writeHeader('content-type', 'text/event-stream; charset=utf-8').writeHeader('cache-control', 'no-cache')
    this.note(null)
    const head = this.plan.head(this.request.promptTokens)
    this.corkedBytes += HEAD_BYTES + head.length
    const ready = this.write(head)
    if (this.behaviour.ttftMs > 0) {
      this.wait(this.behaviour.ttftMs)
      return false
    }
    this.dueMs = this.wheel.nowMs()
    this.blocked = !ready
    return ready
  }

  /** The next write is due a fixed time after this one was, so that a late turn of the loop does not add up. */
  private pace(delayMs: number): void {
    this.dueMs = Math.max(this.dueMs + delayMs, this.wheel.nowMs() - delayMs)
    this.wheel.add(this)
  }

  private contentBytes(count: number): Buffer {
    if (this.echo !== undefined) return this.plan.textFrame(this.echo)
    if (this.behaviour.words.usage !== 'every') return this.plan.content(this.sent, count)
    const frames: Buffer[] = []
    for (let i = 1; i <= count; i++) {
      const usage = usageOf(this.behaviour, this.request.promptTokens, this.sent + i)
      if (usage !== null) frames.push(this.plan.contentWithUsage(this.sent + i - 1, usage))
    }
    return Buffer.concat(frames)
  }

  private note(usage: ReportedUsage | null): void {
    const bytes = this.echo === undefined ? this.plan.contentBytes(this.sent) : Buffer.byteLength(this.echo)
    this.exchange.sent(200, this.sent, bytes, usage)
  }

  private finish(): void {
    const { cut, fin, hang, error_in_stream: failAt } = this.behaviour.integers
    if (
      this.sent < this.total ||
      this.sent === cut ||
      this.sent === fin ||
      this.sent === hang ||
      this.sent === failAt
    ) {
      if (this.sent === cut) return this.exchange.destroy()
      if (this.sent === fin) return this.exchange.end('cut', '')
      if (this.sent === failAt) return this.end('error', this.plan.errorEnd(), null)
      return
    }
    const usage = usageOf(this.behaviour, this.request.promptTokens, this.sent)
    const kind = this.behaviour.words.usage
    const reported = this.request.usageAsked || kind === 'every' || kind === 'finish' ? usage : null
    this.end('complete', this.plan.end(this.finishReason, usage, this.request.usageAsked), reported)
  }

  private end(outcome: 'complete' | 'error', bytes: Buffer, usage: ReportedUsage | null): void {
    if (!this.fits(bytes.length)) return
    this.note(usage)
    if (this.behaviour.integers.split === undefined && !this.single) return this.exchange.end(outcome, bytes)
    this.write(bytes)
    this.exchange.end(outcome, '')
  }

  /** @returns false when the reader has fallen behind */
  private write(bytes: Buffer): boolean {
    const { split } = this.behaviour.integers
    if (split === undefined || split === 0) return this.writePiece(bytes)
    let ready = true
    for (let at = 0; at < bytes.length; at += split) ready = this.writePiece(bytes.subarray(at, at + split))
    return ready
  }

  private writePiece(bytes: Buffer): boolean {
    const { res } = this.exchange
    return this.single ? writeSlices(res, bytes) : res.write(bytes)
  }
}
