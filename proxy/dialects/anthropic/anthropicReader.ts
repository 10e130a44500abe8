import type { UsageBounds } from '../../../contract/money/statedUsage.ts'
import { type ReportedUsage, UsageReports } from '../../../contract/money/usageReports.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import { type EventBounds, FrameReader, type FrameSink } from '../../sse/frameReader.ts'
import type { CallBounds } from '../limits.ts'
import type { FinishReason, MessageReader, MessageSink } from '../shared/message.ts'
import { thoughtOf } from '../shared/thought.ts'

const FINISH_REASONS: ReadonlyMap<unknown, FinishReason> = new Map<unknown, FinishReason>([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
])

/** The reason that a provider of the Anthropic dialect gives; one that is not known counts as a good end. */
export function finishOfStop(stopReason: unknown): FinishReason {
  return FINISH_REASONS.get(stopReason) ?? 'stop'
}

/** A tool call whose block is open. */
interface OpenCall {
  readonly index: number
  /** Arguments sent with content_block_start; replaced by later deltas. */
  readonly input: unknown
  pieces: boolean
}

/** A block of thinking that is open, for a sink that wants it whole. */
interface OpenThought {
  text: string
  signature: string
}

/** Reads the events of a provider of the Anthropic dialect for a client that speaks another format. */
export class AnthropicReader implements MessageReader, FrameSink {
  done = false
  broken = false
  error: unknown = null

  private readonly frames: FrameReader
  private readonly callsMax: number
  private readonly reported: UsageReports
  private readonly calls = new Map<unknown, OpenCall>()
  private thinking: OpenThought | null = null
  private sink: MessageSink | undefined

  constructor(bounds: UsageBounds, eventBounds: EventBounds & CallBounds) {
    this.callsMax = eventBounds.toolCallsMax
    this.reported = new UsageReports(bounds)
    this.frames = new FrameReader(eventBounds)
  }

  get usage(): ReportedUsage | null {
    return this.reported.current
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
    const { sink } = this
    if (this.done || this.broken || sink === undefined) return
    const event = parseJsonObject(bytes.toString('utf8', start, end))
    if (event === null) this.broken = true
    else this.readEvent(event, sink)
  }

  // Keep-alive comments of the provider are between it and the gateway.
  onComment(): void {}

  private readEvent(event: JsonObject, sink: MessageSink): void {
    switch (event['type']) {
      case 'message_start':
        this.reported.note(isJsonObject(event['message']) ? event['message']['usage'] : null)
        break
      case 'content_block_start':
        if (isJsonObject(event['content_block'])) this.startBlock(event['index'], event['content_block'], sink)
        break
      case 'content_block_delta':
        if (isJsonObject(event['delta'])) this.readDelta(event['index'], event['delta'], sink)
        break
      case 'content_block_stop':
        this.stopBlock(event['index'], sink)
        break
      case 'message_delta':
        this.reported.note(event['usage'])
        if (isJsonObject(event['delta']) && typeof event['delta']['stop_reason'] === 'string') {
          sink.ends(finishOfStop(event['delta']['stop_reason']))
        }
        break
      case 'message_stop':
        this.done = true
        break
      case 'error':
        this.error = event['error'] ?? null
        this.broken = true
        break
    }
  }

  private startBlock(index: unknown, block: JsonObject, sink: MessageSink): void {
    if (block['type'] === 'text') sendText(block['text'], (piece) => sink.text(piece))
    else if (block['type'] === 'thinking') {
      if (sink.thoughtEnds !== undefined) this.thinking = { text: '', signature: textOf(block['signature']) }
      this.think(block['thinking'], sink)
    } else if (block['type'] === 'redacted_thinking') this.endThought(block, sink)
    else if (block['type'] === 'tool_use') this.startCall(index, block, sink)
  }

  private think(value: unknown, sink: MessageSink): void {
    sendText(value, (piece) => {
      if (this.thinking !== null) this.thinking.text += piece
      sink.reasoning(piece)
    })
  }

  private endThought(block: JsonObject, sink: MessageSink): void {
    const thought = thoughtOf(block)
    if (thought !== null) sink.thoughtEnds?.(thought)
  }

  private startCall(index: unknown, block: JsonObject, sink: MessageSink): void {
    const call: OpenCall = { index: this.calls.size, input: block['input'], pieces: false }
    if (call.index >= this.callsMax) {
      this.broken = true
      return
    }
    this.calls.set(index, call)
    sink.toolCall(call.index, textOf(block['id']), textOf(block['name']))
  }

  private readDelta(index: unknown, delta: JsonObject, sink: MessageSink): void {
    if (delta['type'] === 'text_delta') sendText(delta['text'], (piece) => sink.text(piece))
    else if (delta['type'] === 'thinking_delta') this.think(delta['thinking'], sink)
    else if (delta['type'] === 'signature_delta' && this.thinking !== null)
      this.thinking.signature += textOf(delta['signature'])
    else if (delta['type'] === 'input_json_delta') {
      const call = this.calls.get(index)
      sendText(delta['partial_json'], (piece) => {
        if (call === undefined) return
        call.pieces = true
        sink.toolArguments(call.index, piece)
      })
    }
  }

  // A tool without parameters gets no piece of input, but its call needs arguments that are JSON.
  private stopBlock(index: unknown, sink: MessageSink): void {
    const { thinking } = this
    if (thinking !== null) {
      this.thinking = null
      this.endThought({ type: 'thinking', thinking: thinking.text, signature: thinking.signature }, sink)
    }
    const call = this.calls.get(index)
    if (call === undefined || call.pieces) return
    call.pieces = true
    sink.toolArguments(call.index, JSON.stringify(call.input ?? {}))
  }
}

function sendText(value: unknown, send: (piece: string) => void): void {
  if (typeof value === 'string' && value !== '') send(value)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
