import type { OutageLog } from '../../contract/std/outageLog.ts'
import type { ExportResult } from './thread/exportTask.ts'

/** The end of a span: dropped is before its export, failed at the receiver. */
export type SpanOutcome = 'exported' | 'dropped' | 'failed'

export interface SpanQueueOptions {
  /** Spans that wait or are being exported; beyond it they are dropped. */
  readonly spansMax: number
  /** Spans of one export. */
  readonly batchSpansMax: number
  /** How long spans are gathered, in milliseconds. */
  readonly delayMs: number
  /** How long a process that stops waits for exports, in milliseconds. */
  readonly stopMs: number
  /** Exports records, which are lines of JSON; called again only after it has ended. */
  readonly send: (lines: readonly string[]) => Promise<ExportResult>
  readonly close: () => Promise<void>
  readonly onCount: (outcome: SpanOutcome, spans: number) => void
  readonly outage: Pick<OutageLog, 'failed' | 'works'>
}

interface Waiting {
  readonly line: string
  readonly spans: number
}

const RECEIVER = 'receiver'

/** The spans that wait for their export. No request waits for them: beyond a bound they are dropped and counted. */
export class SpanQueue {
  private readonly options: SpanQueueOptions
  private waiting: Waiting[] = []
  private waitingSpans = 0
  private sendingSpans = 0
  private timer: NodeJS.Timeout | undefined
  private sending: Promise<void> | undefined

  constructor(options: SpanQueueOptions) {
    this.options = options
  }

  hasRoom(spans: number): boolean {
    return this.waitingSpans + this.sendingSpans + spans <= this.options.spansMax
  }

  drop(spans: number): void {
    this.options.onCount('dropped', spans)
  }

  /** Takes the record of a request, for which there is room. @param spans that it becomes */
  add(line: string, spans: number): void {
    this.waiting.push({ line, spans })
    this.waitingSpans += spans
    if (this.waitingSpans >= this.options.batchSpansMax) this.begin()
    else this.timer ??= setTimeout(() => this.begin(), this.options.delayMs)
  }

  /** Exports what waits, for a bounded time. */
  async stop(): Promise<void> {
    const { stopMs, close } = this.options
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, stopMs)
    })
    await Promise.race([this.sendAll(), late])
    clearTimeout(timer)
    clearTimeout(this.timer)
    if (this.waitingSpans > 0) this.drop(this.waitingSpans)
    this.waiting = []
    this.waitingSpans = 0
    await close()
  }

  private async sendAll(): Promise<void> {
    while (this.sending !== undefined || this.waiting.length > 0) {
      this.begin()
      await this.sending
    }
  }

  private begin(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.sending !== undefined || this.waiting.length === 0) return
    this.sending = this.send(this.takeBatch()).finally(() => {
      this.sending = undefined
      this.sendingSpans = 0
      // Others came meanwhile.
      if (this.waitingSpans >= this.options.batchSpansMax) this.begin()
      else if (this.waiting.length > 0) this.timer ??= setTimeout(() => this.begin(), this.options.delayMs)
    })
  }

  /** At least one record, however many spans it has. */
  private takeBatch(): readonly string[] {
    let count = 0
    let spans = 0
    for (const one of this.waiting) {
      if (count > 0 && spans + one.spans > this.options.batchSpansMax) break
      spans += one.spans
      count++
    }
    const lines = this.waiting.splice(0, count).map(({ line }) => line)
    this.waitingSpans -= spans
    this.sendingSpans = spans
    return lines
  }

  private async send(lines: readonly string[]): Promise<void> {
    const { onCount, outage } = this.options
    const spans = this.sendingSpans
    try {
      const { rejectedSpans, failure } = await this.options.send(lines)
      if (failure !== undefined) throw new Error(failure)
      const rejected = Math.min(rejectedSpans, spans)
      onCount('exported', spans - rejected)
      if (rejected > 0) onCount('failed', rejected)
      outage.works(RECEIVER)
    } catch (error) {
      onCount('failed', spans)
      outage.failed(RECEIVER, error)
    }
  }
}
