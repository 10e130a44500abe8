import type { UsageBounds } from '../../../contract/money/statedUsage.ts'
import { type ReportedUsage, UsageReports } from '../../../contract/money/usageReports.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { dataKind, separateLines } from '../../sse/dataKind.ts'
import { dataStart, type EventBounds, FrameReader, type FrameSink } from '../../sse/frameReader.ts'
import { NOWHERE, OutBuffer } from '../../sse/outBuffer.ts'
import { appendComment, joinLines, parseBytes } from '../../sse/sseText.ts'
import type { CallBounds } from '../limits.ts'
import type { RelayStream, StreamState, StreamTail } from '../shared/relayStream.ts'
import { ChunkGuard } from './chunkGuard.ts'
import type { ChunkRepair } from './chunkRepair.ts'
import { chunkError, chunkUsage } from './chunkReports.ts'
import { ChunkScan } from './chunkScan.ts'
import { ChunkTemplate } from './chunkTemplate.ts'
import type { HeldRepeat } from './heldRepeat.ts'
import { HeldRepeats } from './heldRepeats.ts'
import { OwnChunks, textChoices } from './ownChunks.ts'
import { appendChunk, type ChunkIdentity, hasSoundHead } from './rewrite.ts'

// Held events are copied out of it immediately.
const scratch = new OutBuffer()
// One scan serves all streams of the process: it is used within one turn.
const scan = new ChunkScan()

/**
 * Reads a provider's stream of chat.completion.chunk or text_completion events and writes the client's stream: every chunk
 * under the request's id and public model, usage taken out and remembered, one event each.
 */
export class ChatStream implements FrameSink, RelayStream {
  state: StreamState = 'waiting'
  /** A finish_reason has been seen. */
  finished = false
  hasChoice = false
  /** An error event of the provider, parsed. */
  error: unknown = null
  outputFrames = 0
  outputBytes = 0
  /** Output frames that had arrived when the usage was last reported. */
  framesAtUsage = 0

  private readonly reader: FrameReader
  private out: OutBuffer = NOWHERE
  private readonly identity: ChunkIdentity
  private readonly keepNullUsage: boolean
  private readonly reports: UsageReports
  private readonly template = new ChunkTemplate()
  private readonly own: OwnChunks
  private readonly guard: ChunkGuard
  private readonly repeat = new HeldRepeats()
  /** Watches the texts of chunks that match the template. */
  private watch: HeldRepeat | null = null
  private isHolding = false
  private isHeadSound = false

  /**
   * @param keepNullUsage the client asked for usage, so `usage: null` on ordinary chunks stays
   * @param echo text of the gateway's own that the answer begins with, in its own chunk
   */
  constructor(
    identity: ChunkIdentity,
    keepNullUsage: boolean,
    bounds: UsageBounds,
    eventBounds: EventBounds & CallBounds,
    echo: string = '',
  ) {
    this.identity = identity
    this.keepNullUsage = keepNullUsage
    this.reports = new UsageReports(bounds)
    this.reader = new FrameReader(eventBounds)
    this.own = new OwnChunks(identity, keepNullUsage, echo)
    this.guard = new ChunkGuard(identity.requestId, eventBounds)
  }

  /**
   * Reads the provider's next bytes; look at `state` afterwards.
   * @param out where rewritten events are appended
   */
  push(bytes: Buffer, out: OutBuffer): void {
    if (this.state === 'broken' || this.state === 'done') return
    this.out = out
    if (!this.reader.push(bytes, this)) this.state = 'broken'
  }

  get usage(): ReportedUsage | null {
    return this.reports.current
  }

  /** The provider's stream has ended. */
  finish(out: OutBuffer): void {
    this.out = out
    if (this.state !== 'broken' && this.state !== 'done') this.reader.finish(this)
    this.guard.sendHeld(out)
    if (this.finished && this.state === 'flowing') this.closeCalls()
  }

  /** Whether the answer is whole: it ended itself, by a finish_reason or by [DONE] after output. */
  get complete(): boolean {
    return this.finished || (this.state === 'done' && this.outputFrames > 0)
  }

  onEvent(bytes: Buffer, start: number, end: number): number {
    const { template } = this
    if (this.state !== 'flowing' || this.isHolding || this.guard.isHolding) return -1
    const from = dataStart(bytes, start, end)
    if (from < 0 || !template.begins(bytes, from, end)) return -1
    const runEnd = template.appendRun(this.out, bytes, end, this.watch)
    this.outputFrames += template.runChunks
    this.outputBytes += template.runBytes
    return runEnd
  }

  onData(bytes: Buffer, start: number, end: number, lines: number): void {
    if (this.state === 'done') return this.noteLate(bytes, start, end)
    if (this.state === 'broken') return
    const separate = lines > 1 ? separateLines(bytes, start, end) : null
    if (separate !== null) return separate.forEach(([from, to]) => void this.onData(bytes, from, to, 1))
    if (lines > 1) joinLines(bytes, start, end)
    if (!this.isHolding && this.template.match(bytes, start, end) === end) {
      this.writeMatched(bytes)
      return
    }
    const kind = dataKind(bytes, start, end)
    if (kind === 'end') this.close()
    else if (kind !== 'nothing') this.readChunk(bytes, start, end)
  }

  /** Some providers report usage after the end that they have stated, in the same piece of the stream. */
  private noteLate(bytes: Buffer, start: number, end: number): void {
    const isRead = this.reports.current === null && scan.scan(bytes, start, end)
    const report = isRead ? chunkUsage(bytes, start, end, scan, true) : null
    if (report !== null && this.reports.noteIn(report)) this.framesAtUsage = this.outputFrames
  }

  private readChunk(bytes: Buffer, start: number, end: number): void {
    // Clients trust a receipt, whichever part wrote it.
    if (!scan.scan(bytes, start, end) || scan.hasReceipt) {
      // Nothing is missing of an answer that has ended, whatever the provider adds to it.
      if (!this.finished) this.state = 'broken'
      return
    }
    this.error = chunkError(bytes, start, end, scan)
    if (this.error !== null) {
      this.state = 'broken'
      return
    }
    this.own.note(bytes, scan)
    const report = chunkUsage(bytes, start, end, scan, this.finished)
    const isCounted = report !== null && this.reports.noteIn(report)
    if (scan.hasChoices) this.relayChoices(bytes, start, end)
    if (isCounted) this.framesAtUsage = this.outputFrames
  }

  onComment(bytes: Buffer, start: number, end: number): void {
    if (this.state === 'broken' || this.state === 'done') return
    appendComment(this.out, bytes, start, end)
  }

  tail(tail: StreamTail): string {
    return this.own.tail(tail, this.missingReason())
  }

  /** The members of the chunk that clients of chats wait for, where the provider ended its stream without a reason. */
  private missingReason(): string {
    const { guard, identity } = this
    const isMissing = this.state === 'done' && guard.reason === null && this.hasChoice
    if (!isMissing || identity.isText) return ''
    return guard.repairer.ending()
  }

  /** Writes the chunk that the template has just found. */
  private writeMatched(bytes: Buffer): void {
    const { template, out, guard, watch } = this
    guard.sendHeld(out)
    if (watch?.repeats(bytes, template.textStart, template.textEnd) === true) return this.holdMatched(watch, bytes)
    this.outputFrames++
    this.outputBytes += template.textEnd - template.textStart
    template.append(out, bytes)
  }

  private holdMatched(watch: HeldRepeat, bytes: Buffer): void {
    watch.hold((event) => this.template.append(event, bytes))
    this.isHolding = true
  }

  /** Relays what is as documented, and repairs the rest. */
  private relayChoices(bytes: Buffer, start: number, end: number): void {
    this.hasChoice = true
    const { isText } = this.identity
    // Only the reader of messages tells the texts of a chat that are no deltas.
    const sentBytes = this.repeat.take(bytes, scan, !isText && !scan.choice.hasDelta && !scan.finished, this.out)
    if (sentBytes > 0) this.note(1, sentBytes, false)
    if (isText && scan.choice.hasFailed(bytes)) this.state = 'broken'
    else if (this.repeat.found) this.holdRepeat(bytes, start, end, isText)
    else if (isText) this.relayText(bytes, start, end)
    else this.relayChat(bytes, start, end)
    this.isHolding = this.repeat.isHeld
  }

  private relayText(bytes: Buffer, start: number, end: number): void {
    const chunk = scan.choice.hasTextReason(bytes) ? null : parseBytes(bytes, start, end)
    if (!isJsonObject(chunk)) return this.relay(bytes, start, end)
    this.writeText(chunk, scan.outputs, scan.outputBytes)
  }

  /** Writes a chunk of a text completion anew. */
  private writeText(chunk: JsonObject, outputs: number, bytes: number): void {
    this.note(outputs, bytes, scan.finished)
    this.out.appendText(this.own.takeEcho() + this.own.chunk(textChoices(chunk)))
  }

  private relayChat(bytes: Buffer, start: number, end: number): void {
    const fate = this.guard.fateOf(bytes, scan, this.out)
    if (fate !== 'rewrite' && this.guard.lacksRole(scan, fate)) this.out.appendText(this.own.role())
    if (fate === 'relay') this.relay(bytes, start, end)
    else if (fate === 'hold') this.hold(bytes, start, end)
    else this.rewrite(parseBytes(bytes, start, end), scan.outputs, scan.outputBytes)
  }

  private relay(bytes: Buffer, start: number, end: number): void {
    this.guard.sendHeld(this.out)
    if (scan.outputs > 0 && scan.call.count === 0) this.guard.hasRelayed = true
    // Not before the answer itself: once bytes are written, no other provider can serve the request.
    if (scan.outputs > 0 || scan.finished) this.out.appendText(this.own.takeEcho())
    this.note(scan.outputs, scan.outputBytes, scan.finished)
    this.template.learn(bytes, start, end, scan, this.identity, this.append(this.out, bytes, start, end))
    this.watch = this.template.isContent ? this.repeat.text : this.template.isThought ? this.repeat.thought : null
  }

  /** Keeps what repeats all before it; what else the chunk says is passed on. */
  private holdRepeat(bytes: Buffer, start: number, end: number, isText: boolean): void {
    const chunk = parseBytes(bytes, start, end)
    if (!isJsonObject(chunk)) return
    const hasCalls = scan.call.count > 0
    this.repeat.takeOut(chunk, !scan.finished && !hasCalls, (out, choice) =>
      out.appendText(this.own.chunk(`"choices":[${JSON.stringify(choice)}]`)),
    )
    if (!isText) this.rewrite(chunk, hasCalls ? 1 : 0, hasCalls ? scan.outputBytes : 0)
    else if (scan.finished) this.writeText(chunk, 0, 0)
  }

  private hold(bytes: Buffer, start: number, end: number): void {
    this.note(scan.outputs, scan.outputBytes, false)
    scratch.clear()
    this.append(scratch, bytes, start, end)
    this.guard.hold(scratch.view())
  }

  private append(out: OutBuffer, bytes: Buffer, start: number, end: number): boolean {
    const dropUsage = scan.usageStart >= 0 && !(scan.usageIsNull && this.keepNullUsage)
    // Providers write the head of every chunk alike.
    this.isHeadSound ||= hasSoundHead(bytes, scan, this.identity)
    scan.hasSoundHead = this.isHeadSound
    appendChunk(out, bytes, start, end, scan, this.identity, dropUsage)
    return dropUsage
  }

  private note(outputs: number, outputBytes: number, finished: boolean): void {
    if (outputs > 0) {
      this.outputFrames++
      this.outputBytes += outputBytes
    }
    if (finished) this.finished = true
    if (this.state === 'waiting' && (outputs > 0 || finished)) this.state = 'flowing'
  }

  /** Has a chunk written anew. @param outputs what it adds as the provider wrote it */
  private rewrite(chunk: unknown, outputs: number, bytes: number): void {
    // A call that is held is the reader's, which may have more of its name now.
    this.guard.dropHeld()
    if (!isJsonObject(chunk)) return
    this.send((repair) => repair.repaired(chunk))
    const { outputBytes } = this.guard.repairer
    // Calls count when they arrive, those too that wait for the rest of their name.
    if (scan.call.count > 0 || outputBytes === 0) this.note(outputs, bytes, this.guard.reason !== null)
    else this.note(1, outputBytes, this.guard.reason !== null)
    this.forgetHeld()
  }

  // A stream that broke off before its client got anything has no output.
  private forgetHeld(): void {
    if (this.state === 'broken' && this.guard.repairer.choices.isSilent) this.outputFrames = this.outputBytes = 0
  }

  private send(write: (repair: ChunkRepair) => string): void {
    const { guard } = this
    const repair = guard.repairer
    const members = write(repair)
    guard.reason = repair.choices.finish
    if (repair.outputBytes > 0 && !this.repeat.found) this.outputBytes += this.repeat.text.send(this.out)
    if (members !== '') this.out.appendText(this.own.chunk(members))
    if (!repair.choices.broken) return
    this.error = repair.choices.error
    this.state = 'broken'
  }

  /** The stream has ended itself; it may lack the rest of its calls, or a reason. */
  private close(): void {
    this.guard.sendHeld(this.out)
    this.repeat.drop()
    this.closeCalls()
    if (this.state !== 'broken') this.state = 'done'
  }

  private closeCalls(): void {
    if (this.guard.isPending) this.send((repair) => repair.closing())
    this.forgetHeld()
  }
}
