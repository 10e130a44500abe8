import type { UsageBounds } from '../../../contract/money/statedUsage.ts'
import { type ReportedUsage, UsageReports } from '../../../contract/money/usageReports.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import { type EventBounds, FrameReader, type FrameSink } from '../../sse/frameReader.ts'
import { type FinishReason, type MessageReader, type MessageSink, TOOL_CALLS_MAX } from '../shared/message.ts'

const DONE = '[DONE]'
const FINISH_REASONS: ReadonlyMap<unknown, FinishReason> = new Map<unknown, FinishReason>([
  ['stop', 'stop'],
  ['eos', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'content_filter'],
])

/** The reason that a provider of the OpenAI dialect gives; one that is not known counts as a good end. */
export function finishReason(value: unknown): FinishReason {
  return FINISH_REASONS.get(value) ?? 'stop'
}

/** Reads the chunks of a provider of the OpenAI dialect for a client that speaks another format. */
export class OpenaiReader implements MessageReader, FrameSink {
  done = false
  broken = false
  error: unknown = null

  private readonly frames: FrameReader
  private readonly reports: UsageReports
  private sink: MessageSink | undefined
  private readonly begun = new Set<number>()

  constructor(bounds: UsageBounds, eventBounds: EventBounds) {
    this.reports = new UsageReports(bounds)
    this.frames = new FrameReader(eventBounds)
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
  }

  onData(bytes: Buffer, start: number, end: number): void {
    if (this.done || this.broken) return
    const text = bytes.toString('utf8', start, end)
    if (text === DONE) {
      this.done = true
      return
    }
    const chunk = parseJsonObject(text)
    if (chunk === null || (chunk['error'] !== undefined && chunk['error'] !== null)) {
      this.error = chunk?.['error'] ?? null
      this.broken = true
      return
    }
    const [choice] = Array.isArray(chunk['choices']) ? (chunk['choices'] as unknown[]) : []
    if (isJsonObject(choice)) this.readChoice(choice)
    // A report covers the output of its own chunk.
    this.reports.noteIn(chunk)
  }

  // Keep-alive comments of the provider are between it and the gateway; the events of another format carry none.
  onComment(): void {}

  private readChoice(choice: JsonObject): void {
    const { sink } = this
    if (sink === undefined) return
    const delta = choice['delta']
    if (isJsonObject(delta)) {
      const reasoning = delta['reasoning_content'] ?? delta['reasoning']
      if (isText(reasoning)) sink.reasoning(reasoning)
      if (isText(delta['content'])) sink.text(delta['content'])
      if (isText(delta['refusal'])) sink.refusal(delta['refusal'])
      if (Array.isArray(delta['tool_calls'])) this.readCalls(delta['tool_calls'], sink)
    }
    const reason = choice['finish_reason']
    if (reason !== null && reason !== undefined) sink.ends(finishReason(reason))
  }

  private readCalls(calls: readonly unknown[], sink: MessageSink): void {
    for (const [place, call] of calls.entries()) {
      if (!isJsonObject(call)) continue
      const index = typeof call['index'] === 'number' ? call['index'] : place
      if (!Number.isInteger(index) || index < 0 || index >= TOOL_CALLS_MAX) {
        this.broken = true
        return
      }
      const said = isJsonObject(call['function']) ? call['function'] : {}
      if (!this.begun.has(index)) {
        this.begun.add(index)
        sink.toolCall(index, isText(call['id']) ? call['id'] : '', isText(said['name']) ? said['name'] : '')
      }
      if (isText(said['arguments'])) sink.toolArguments(index, said['arguments'])
    }
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
