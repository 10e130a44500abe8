import type { OutageLog } from '../../contract/std/outageLog.ts'
import type { RequestContent } from './content/requestContent.ts'
import type { RawContent } from './thread/content/rawContent.ts'
import type { ExportResult } from './thread/exportTask.ts'

/** The end of a span: dropped is before its export, failed at the receiver. */
export type SpanOutcome = 'exported' | 'dropped' | 'failed'

export interface SpanQueueOptions {
  /** Spans that wait or are being exported; beyond it they are dropped. */
  readonly spansMax: number
  /** Spans of one export. */
  readonly batchSpansMax: number
  /** Content of one export, in bytes; one request may have more. */
  readonly batchContentBytesMax: number
  /** How long spans are gathered, in milliseconds. */
  readonly delayMs: number
  /** How long a process that stops waits for exports, in milliseconds. */
  readonly stopMs: number
  /** Exports records, which are lines of JSON, with their contents, or [] for none; called again only after it has ended. */
  readonly send: (lines: readonly string[], contents: readonly (RawContent | null)[]) => Promise<ExportResult>
  readonly close: () => Promise<void>
  readonly onCount: (outcome: SpanOutcome, spans: number) => void
  readonly outage: Pick<OutageLog, 'failed' | 'works'>
}

interface Waiting {
  readonly line: string
  readonly spans: number
  readonly content: RequestContent | undefined
}

const RECEIVER = 'receiver'

/** The spans that wait for their export. No request waits for them: beyond a bound they are dropped and counted. */
export class SpanQueue {
  private readonly options: SpanQueueOptions
  private waiting: Waiting[] = []
  private waitingSpans = 0
  private waitingBytes = 0
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

  /**
   * Takes the record of a request, for which there is room.
   * @param spans that it becomes
   * @param content whose answer has ended; it is released once it is exported
   */
  add(line: string, spans: number, content?: RequestContent): void {
    this.waiting.push({ line, spans, content })
    this.waitingSpans += spans
    this.waitingBytes += content?.bytes ?? 0
    if (this.isBatch) this.begin()
    else this.timer ??= setTimeout(() => this.begin(), this.options.delayMs)
  }

  /** As much waits as one export takes. */
  private get isBatch(): boolean {
    const { batchSpansMax, batchContentBytesMax } = this.options
    return this.waitingSpans >= batchSpansMax || this.waitingBytes >= batchContentBytesMax
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
      if (this.isBatch) this.begin()
      else if (this.waiting.length > 0) this.timer ??= setTimeout(() => this.begin(), this.options.delayMs)
    })
  }

  /** At least one record, however many spans it has. */
  private takeBatch(): readonly Waiting[] {
    const { batchSpansMax, batchContentBytesMax } = this.options
    let count = 0
    let spans = 0
    let bytes = 0
    for (const one of this.waiting) {
      const more = one.content?.bytes ?? 0
      if (count > 0 && (spans + one.spans > batchSpansMax || bytes + more > batchContentBytesMax)) break
      spans += one.spans
      bytes += more
      count++
    }
    this.waitingSpans -= spans
    this.waitingBytes -= bytes
    this.sendingSpans = spans
    return this.waiting.splice(0, count)
  }

  private async send(batch: readonly Waiting[]): Promise<void> {
    const { onCount, outage } = this.options
    const spans = this.sendingSpans
    const lines = batch.map(({ line }) => line)
    const hasContent = batch.some(({ content }) => content !== undefined)
    const contents = hasContent ? batch.map(({ content }) => content?.raw ?? null) : []
    try {
      const { rejectedSpans, failure } = await this.options.send(lines, contents)
      if (failure !== undefined) throw new Error(failure)
      const rejected = Math.min(rejectedSpans, spans)
      onCount('exported', spans - rejected)
      if (rejected > 0) onCount('failed', rejected)
      outage.works(RECEIVER)
    } catch (error) {
      onCount('failed', spans)
      outage.failed(RECEIVER, error)
    } finally {
      for (const { content } of batch) content?.release()
    }
  }
}
