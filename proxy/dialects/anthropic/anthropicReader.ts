import type { UsageBounds } from '../../../contract/money/statedUsage.ts'
import { type ReportedUsage, UsageReports } from '../../../contract/money/usageReports.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import { dataKind, dataParts } from '../../sse/dataKind.ts'
import { type EventBounds, FrameReader, type FrameSink } from '../../sse/frameReader.ts'
import type { CallBounds } from '../limits.ts'
import type { MessageReader, MessageSink } from '../shared/message.ts'
import { thoughtOf } from '../shared/thought.ts'
import { EventRepair, usageIn } from './eventRepair.ts'
import { finishOfStop } from './stopReasons.ts'

/** A tool call of the message. */
interface Call {
  readonly index: number
  hasInput: boolean
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
  /** One that has begun always gets a reason here. */
  readonly hasChoice = false

  private readonly frames: FrameReader
  private readonly callsMax: number
  private readonly reported: UsageReports
  private readonly repair: EventRepair
  private finished = false
  private readonly calls = new Map<unknown, Call>()
  private thinking: OpenThought | null = null
  private sink: MessageSink | undefined

  /** @param requestId for the ids of calls that have none */
  constructor(bounds: UsageBounds, eventBounds: EventBounds & CallBounds, requestId: string = '') {
    this.repair = new EventRepair(requestId)
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

  onData(bytes: Buffer, start: number, end: number, lines: number): void {
    for (const [from, to] of dataParts(bytes, start, end, lines)) this.readData(bytes, from, to)
  }

  // Keep-alive comments of the provider are between it and the gateway.
  onComment(): void {}

  private readData(bytes: Buffer, start: number, end: number): void {
    const { sink } = this
    if (this.done || this.broken || sink === undefined) return
    const kind = dataKind(bytes, start, end)
    if (kind === 'end') this.close(sink)
    else if (kind !== 'nothing') this.readEvent(parseJsonObject(bytes.toString('utf8', start, end)), sink)
  }

  private readEvent(event: JsonObject | null, sink: MessageSink): void {
    if (event === null) {
      // Nothing is missing of an answer that has ended, whatever the provider adds to it.
      this.broken = !this.finished
      return
    }
    if (event['type'] === 'message_stop') this.close(sink)
    else this.readParts(event, sink)
    // A report covers the output of its own event.
    this.reported.note(usageIn(event))
  }

  private readParts(event: JsonObject, sink: MessageSink): void {
    const { repair } = this
    const parts = repair.read(event) ?? [event]
    this.error = repair.error
    this.broken = repair.broken
    if (!this.broken) for (const part of parts) this.readPart(part, sink)
  }

  private close(sink: MessageSink): void {
    for (const part of this.repair.end()) this.readPart(part, sink)
    this.done = true
  }

  private readPart(event: JsonObject, sink: MessageSink): void {
    const { index, delta, content_block: block } = event
    switch (event['type']) {
      case 'content_block_start':
        if (isJsonObject(block)) this.startBlock(index, block, sink)
        break
      case 'content_block_delta':
        if (isJsonObject(delta)) this.readDelta(index, delta, sink)
        break
      case 'content_block_stop':
        this.stopBlock(index, sink)
        break
      case 'message_delta':
        if (isJsonObject(delta) && typeof delta['stop_reason'] === 'string') {
          this.finished = true
          sink.ends(finishOfStop(delta['stop_reason']))
        }
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
    const call: Call = { index: this.calls.size, hasInput: false }
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
        call.hasInput = true
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
    if (call === undefined || call.hasInput) return
    call.hasInput = true
    sink.toolArguments(call.index, '{}')
  }
}

function sendText(value: unknown, send: (piece: string) => void): void {
  if (typeof value === 'string' && value !== '') send(value)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
