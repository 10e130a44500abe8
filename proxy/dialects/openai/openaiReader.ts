import { answerError } from '../../../contract/api/answerError.ts'
import { choicesOf } from '../../../contract/api/completion.ts'
import type { UsageBounds } from '../../../contract/money/statedUsage.ts'
import { type ReportedUsage, UsageReports } from '../../../contract/money/usageReports.ts'
import { parseJsonObject } from '../../../contract/std/jsonObject.ts'
import { dataKind, separateLines } from '../../sse/dataKind.ts'
import { type EventBounds, FrameReader, type FrameSink } from '../../sse/frameReader.ts'
import type { CallBounds } from '../limits.ts'
import type { MessageReader, MessageSink } from '../shared/message.ts'
import { ChoiceReader } from './choiceReader.ts'

/** Reads the chunks of a provider of the OpenAI dialect for a client that speaks another format. */
export class OpenaiReader implements MessageReader, FrameSink {
  done = false
  broken = false
  error: unknown = null
  hasChoice = false

  private readonly frames: FrameReader
  private readonly reports: UsageReports
  private readonly choices: ChoiceReader
  private sink: MessageSink | undefined

  /** @param requestId for the ids of calls that have none */
  constructor(bounds: UsageBounds, eventBounds: EventBounds & CallBounds, requestId: string = '') {
    this.reports = new UsageReports(bounds)
    this.frames = new FrameReader(eventBounds)
    this.choices = new ChoiceReader(requestId, eventBounds, true)
  }

  get usage(): ReportedUsage | null {
    return this.reports.current
  }

  push(bytes: Buffer, sink: MessageSink): void {
    this.sink = sink
    if (!this.frames.push(bytes, this)) this.broken = true
  }

  end(sink: MessageSink): void {
    this.sink = sink
    this.frames.finish(this)
    if (!this.done && !this.broken) this.close(sink)
  }

  onData(bytes: Buffer, start: number, end: number, lines: number): void {
    const separate = lines > 1 ? separateLines(bytes, start, end) : null
    if (separate === null) this.readData(bytes, start, end)
    else for (const [from, to] of separate) this.readData(bytes, from, to)
  }

  // Keep-alive comments of the provider are between it and the gateway; the events of another format carry none.
  onComment(): void {}

  private readData(bytes: Buffer, start: number, end: number): void {
    const { sink } = this
    if (this.done && this.reports.current === null) this.noteLate(bytes.toString('utf8', start, end))
    if (this.done || this.broken || sink === undefined) return
    const kind = dataKind(bytes, start, end)
    if (kind === 'end') {
      this.done = true
      this.close(sink)
    } else if (kind !== 'nothing') {
      this.readChunk(bytes.toString('utf8', start, end), sink)
    }
  }

  /** Some providers report usage after the end that they have stated, in the same piece of the stream. */
  private noteLate(text: string): void {
    const chunk = parseJsonObject(text)
    if (chunk !== null) this.reports.noteIn(chunk)
  }

  private readChunk(text: string, sink: MessageSink): void {
    const chunk = parseJsonObject(text)
    if (chunk === null) {
      // Nothing is missing of an answer that has ended, whatever the provider adds to it.
      this.broken = this.choices.finish === null
      return
    }
    this.error = answerError(chunk)
    if (this.error !== null) {
      this.broken = true
      return
    }
    const [choice] = choicesOf(chunk)
    if (choice !== undefined) {
      this.hasChoice = true
      this.choices.read(choice, sink)
    }
    if (sink.cites !== undefined) this.choices.citations.notePages(chunk)
    if (this.choices.broken) this.fail()
    // A report covers the output of its own chunk.
    this.reports.noteIn(chunk)
  }

  private close(sink: MessageSink): void {
    this.choices.close(sink)
    if (this.choices.broken) this.fail()
  }

  private fail(): void {
    this.error = this.choices.error
    this.broken = true
  }
}
