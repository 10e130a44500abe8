import type { UsageBounds } from '../../../contract/money/statedUsage.ts'
import { type ReportedUsage, UsageReports } from '../../../contract/money/usageReports.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { dataKind, separateLines } from '../../sse/dataKind.ts'
import { DELTA, EVENT_KINDS, EventScan, MESSAGE_START, MESSAGE_STOP } from '../../sse/eventScan.ts'
import { type EventBounds, FrameReader, type FrameSink } from '../../sse/frameReader.ts'
import { NOWHERE, type OutBuffer } from '../../sse/outBuffer.ts'
import { appendComment, joinLines, parseBytes } from '../../sse/sseText.ts'
import { appendMissing, type ChunkIdentity } from '../openai/rewrite.ts'
import type { RelayStream, StreamState, StreamTail } from '../shared/relayStream.ts'
import { anthropicErrorEvent, MESSAGE_END } from './anthropicEvents.ts'
import { EventRepair, usageIn } from './eventRepair.ts'

const END = Buffer.from('\n\n')
const HEADS = EVENT_KINDS.map((kind) => Buffer.from(`event: ${kind}\ndata: `))

// One scan serves all streams of the process: it is used within one turn.
const scan = new EventScan()

/**
 * Reads a provider's Messages stream for a client that speaks the same: events go through as bytes, but for the id and
 * the model of the message, for those that the format does not have so, and for message_stop, which waits for the receipt.
 * Usage is remembered.
 */
export class MessagesStream implements FrameSink, RelayStream {
  state: StreamState = 'waiting'
  /** A stop_reason has been seen. */
  finished = false
  /** One that has begun always gets a reason here. */
  readonly hasChoice = false
  error: unknown = null
  outputFrames = 0
  outputBytes = 0
  framesAtUsage = 0

  private readonly reader: FrameReader
  private readonly identity: ChunkIdentity
  private readonly reported: UsageReports
  private readonly repair: EventRepair
  private out: OutBuffer = NOWHERE

  constructor(identity: ChunkIdentity, bounds: UsageBounds, eventBounds: EventBounds) {
    this.identity = identity
    this.repair = new EventRepair(identity.requestId)
    this.reported = new UsageReports(bounds)
    this.reader = new FrameReader(eventBounds)
  }

  get usage(): ReportedUsage | null {
    return this.reported.current
  }

  get complete(): boolean {
    return this.finished || (this.state === 'done' && this.outputFrames > 0)
  }

  push(bytes: Buffer, out: OutBuffer): void {
    if (this.over) return
    this.out = out
    if (!this.reader.push(bytes, this)) this.state = 'broken'
  }

  finish(out: OutBuffer): void {
    this.out = out
    if (!this.over) this.reader.finish(this)
  }

  onData(bytes: Buffer, start: number, end: number, lines: number): void {
    if (this.over) return
    const separate = lines > 1 ? separateLines(bytes, start, end) : null
    if (separate !== null) {
      for (const [from, to] of separate) this.onData(bytes, from, to, 1)
      return
    }
    if (lines > 1) joinLines(bytes, start, end)
    const kind = dataKind(bytes, start, end)
    if (kind === 'end') this.close()
    else if (kind !== 'nothing') this.readEvent(bytes, start, end)
  }

  private readEvent(bytes: Buffer, start: number, end: number): void {
    // Clients trust a receipt, whoever wrote it.
    if (!scan.scan(bytes, start, end) || scan.hasReceipt) {
      // Nothing is missing of an answer that has ended, whatever the provider adds to it.
      if (!this.finished) this.state = 'broken'
      return
    }
    this.note()
    const isSound = scan.kind === DELTA && scan.isTyped && !scan.hasNull
    if (isSound && this.repair.passesDelta(scan.words)) this.write(bytes, start, end)
    else this.repaired(bytes, start, end)
  }

  onComment(bytes: Buffer, start: number, end: number): void {
    if (!this.over) appendComment(this.out, bytes, start, end)
  }

  tail({ fault, receipt }: StreamTail): string {
    const comment = receipt === '' ? '' : `: receipt ${receipt}\n\n`
    return fault === null ? comment + MESSAGE_END : anthropicErrorEvent(fault) + comment
  }

  private get over(): boolean {
    return this.state === 'broken' || this.state === 'done'
  }

  /** Counts what the event that was scanned adds to the answer. */
  private note(): void {
    if (scan.outputBytes > 0) {
      this.outputFrames++
      this.outputBytes += scan.outputBytes
    }
    if (scan.finished) this.finished = true
    if (this.state === 'waiting' && (scan.outputBytes > 0 || scan.finished)) this.state = 'flowing'
  }

  /** Reads an event, and writes it or what has to be in its place. */
  private repaired(bytes: Buffer, start: number, end: number): void {
    const event = parseBytes(bytes, start, end)
    if (!isJsonObject(event)) return
    const { repair } = this
    const isLast = scan.kind === MESSAGE_STOP
    const events = isLast ? [] : repair.read(event)
    if (this.reported.note(usageIn(event))) this.framesAtUsage = this.outputFrames
    if (repair.broken) {
      this.error = repair.error
      this.finished = false
      this.state = 'broken'
    } else if (isLast) this.close()
    else if (events === null) this.write(bytes, start, end)
    else for (const part of events) this.writeAnew(part)
  }

  private close(): void {
    for (const part of this.repair.end()) {
      this.writeAnew(part)
      if (scan.finished) this.finished = true
    }
    this.state = 'done'
  }

  private writeAnew(event: JsonObject): void {
    const bytes = Buffer.from(JSON.stringify(event))
    if (scan.scan(bytes, 0, bytes.length)) this.write(bytes, 0, bytes.length)
  }

  /** Writes the event that was scanned last, if it is of a known kind. */
  private write(bytes: Buffer, start: number, end: number): void {
    if (scan.kind < 0) return
    this.out.appendAll(HEADS[scan.kind] as Buffer)
    if (scan.kind === MESSAGE_START) this.appendStart(bytes, start, end)
    else this.out.append(bytes, start, end)
    this.out.appendAll(END)
  }

  // A message without an id or a model gets them at its beginning.
  private appendStart(bytes: Buffer, start: number, end: number): void {
    const { out, identity } = this
    const { messageStart, idStart, modelStart } = scan
    let from = start
    if (messageStart >= 0 && (idStart < 0 || modelStart < 0)) {
      out.append(bytes, from, messageStart)
      appendMissing(out, identity, idStart < 0, modelStart < 0)
      from = messageStart
    }
    const edits = [
      { at: idStart, to: scan.idEnd, text: identity.id },
      { at: modelStart, to: scan.modelEnd, text: identity.model },
    ]
    for (const { at, to, text } of edits.filter((edit) => edit.at >= 0).sort((a, b) => a.at - b.at)) {
      out.append(bytes, from, at)
      out.appendAll(text)
      from = to
    }
    out.append(bytes, from, end)
  }
}
