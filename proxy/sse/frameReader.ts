import { type AnswerBounds, hasFewValues } from '../json/jsonObject.ts'
import { failureEvent, mayBeFailure, readField } from './failureEvent.ts'
import type { SseLimits } from './limits.ts'

const LF = 10
const CR = 13
const COLON = 58
const SPACE = 32
const LETTER_D = 100
const CARRY_BYTES = 4_096
const CARRY_KEEP_BYTES = 65_536
/** Of the line ends after the carried bytes, where every search ends: the rest of the buffer may be long. */
const GUARD_BYTES = 2
const BOM_BYTES = 3
/** Smaller events cannot have so many values that reading them takes long. */
const FEW_VALUES_BYTES = 4_096
const NOTHING = Buffer.alloc(0)
/** Of a line end: not found. */
const NONE = -1
/** Of a line end: not searched yet. */
const NOT_SEARCHED = -2

/** The bounds of one event. */
export type EventBounds = AnswerBounds & Pick<SseLimits, 'eventBytesMax'>

/** Receives the frames of an event stream. Bytes are only lent for the time of the call. */
export interface FrameSink {
  /**
   * Lets the sink take events that it recognizes by their bytes, before their lines are parsed.
   * @returns the end of the last one, after its blank line, or -1 when the first is to be parsed like any other
   */
  onEvent?(bytes: Buffer, start: number, end: number): number
  /**
   * The data of one event, never empty. Several lines are joined by LF in a copy that the sink may change.
   * @param lines how many lines of data the event had
   */
  onData(bytes: Buffer, start: number, end: number, lines: number): void
  /** A comment line without its colon. */
  onComment(bytes: Buffer, start: number, end: number): void
}

/**
 * Reads server-sent events from bytes that may be split anywhere between reads: LF, CRLF and CR line ends, comments, data
 * over several lines, a byte order mark (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * A read that ends at the end of an event is parsed in place without a copy. The bytes of an unfinished event are carried
 * over with their positions, so that a long line is never searched twice.
 *
 *     read:   | event | event | unfin |          eventStart: where the unfinished event begins
 *     carry:                  | unfin | ished |   lineStart: where its unfinished line begins
 *                                                 searchFrom: up to where that line has no end
 */
export class FrameReader {
  private readonly bounds: EventBounds
  private carry: Buffer = NOTHING
  private carryLength = 0
  private eventStart = 0
  private lineStart = 0
  private searchFrom = 0
  private nextCr = 0
  private dataLines = 0
  private dataStart = 0
  private dataEnd = 0
  private moreLines: number[] | null = null
  private skipLf = false
  private atStart = true
  private exceeded = false
  /** The event that is being read is named error. */
  private isFailure = false

  constructor(bounds: EventBounds) {
    this.bounds = bounds
  }

  /**
   * Reads the next bytes of the stream.
   * @returns false when an event exceeds the bounds; the reader is unusable after that
   */
  push(chunk: Buffer, sink: FrameSink): boolean {
    if (chunk.length === 0) return true
    let bytes = chunk
    let end = chunk.length
    if (this.carryLength > 0) {
      this.appendToCarry(chunk)
      bytes = this.carry
      end = this.carryLength
    }
    if (this.atStart && !this.passBom(bytes, end)) {
      if (bytes === chunk) this.keepRest(bytes, end)
      return true
    }
    this.nextCr = NOT_SEARCHED
    this.readLines(bytes, end, sink)
    this.keepRest(bytes, end)
    return !this.exceeded && this.carryLength <= this.bounds.eventBytesMax
  }

  /** The stream has ended: an event that lacks only its blank line is still delivered. */
  finish(sink: FrameSink): void {
    if (this.carryLength === 0) return
    this.carry = this.carry.subarray(0, this.carryLength)
    if (this.lineStart < this.carryLength) this.endLine(this.carry, this.carryLength, sink)
    this.dispatch(this.carry, sink)
    this.carryLength = 0
  }

  private readLines(bytes: Buffer, end: number, sink: FrameSink): void {
    while (this.lineStart < end) {
      if (this.skipLf) {
        this.skipLf = false
        if (bytes[this.lineStart] === LF) {
          this.passTerminator(this.lineStart)
          continue
        }
      }
      if (this.takeEvent(bytes, end, sink)) continue
      const lineEnd = this.findLineEnd(bytes, end)
      if (lineEnd < 0) return
      if (lineEnd > this.lineStart) this.endLine(bytes, lineEnd, sink)
      else this.dispatch(bytes, sink)
      const empty = lineEnd === this.lineStart
      this.skipLf = bytes[lineEnd] === CR
      this.lineStart = lineEnd + 1
      this.searchFrom = this.lineStart
      if (empty) this.eventStart = this.lineStart
    }
  }

  // The LF of a CRLF belongs to the line before it, which may have ended an event.
  private passTerminator(at: number): void {
    if (this.eventStart === at) this.eventStart = at + 1
    this.lineStart = at + 1
    this.searchFrom = at + 1
  }

  // At most once for each event, however many reads it spans.
  private takeEvent(bytes: Buffer, end: number, sink: FrameSink): boolean {
    const at = this.lineStart
    if (this.eventStart !== at || this.searchFrom !== at || sink.onEvent === undefined) return false
    const next = sink.onEvent(bytes, at, end)
    if (next < 0) return false
    this.lineStart = this.searchFrom = this.eventStart = next
    return true
  }

  private findLineEnd(bytes: Buffer, end: number): number {
    const found = bytes.indexOf(LF, this.searchFrom)
    const lf = found < 0 || found >= end ? -1 : found
    if (this.nextCr !== NONE && this.nextCr < this.lineStart) this.nextCr = bytes.indexOf(CR, this.searchFrom)
    const cr = this.nextCr < 0 || this.nextCr >= end ? -1 : this.nextCr
    if (lf < 0 && cr < 0) this.searchFrom = end
    if (lf < 0) return cr
    return cr >= 0 && cr < lf ? cr : lf
  }

  private endLine(bytes: Buffer, lineEnd: number, sink: FrameSink): void {
    const start = this.lineStart
    if (bytes[start] === COLON) {
      sink.onComment(bytes, start + 1, lineEnd)
      return
    }
    const first = dataStart(bytes, start, lineEnd)
    if (first < 0) {
      if (mayBeFailure(bytes, start, lineEnd)) this.noteFailure(bytes.subarray(start, lineEnd), sink)
      return
    }
    // Relays that frame what is framed already write the field's name twice; no JSON begins with it.
    const again = bytes[first] === LETTER_D ? dataStart(bytes, first, lineEnd) : -1
    const from = again < 0 ? first : again
    if (this.dataLines === 0) {
      this.dataStart = from
      this.dataEnd = lineEnd
    } else {
      this.moreLines ??= []
      this.moreLines.push(from, lineEnd)
    }
    this.dataLines++
  }

  /** An event named error is one, whatever its data; and some servers write a field `error` in place of data. */
  private noteFailure(line: Buffer, sink: FrameSink): void {
    const { name, value } = readField(line)
    if (name === 'event') this.isFailure = value.equals(ERROR)
    else if (name === 'error') this.deliver(sink, failureEvent(value), 1)
  }

  private dispatch(bytes: Buffer, sink: FrameSink): void {
    const { dataLines: lines, isFailure } = this
    this.isFailure = false
    if (lines === 0) return
    this.dataLines = 0
    if (lines === 1) {
      if (this.dataEnd <= this.dataStart) return
      if (isFailure) this.deliver(sink, failureEvent(bytes.subarray(this.dataStart, this.dataEnd)), 1)
      else this.deliverIn(sink, bytes, this.dataStart, this.dataEnd, 1)
      return
    }
    const parts = [bytes.subarray(this.dataStart, this.dataEnd)]
    const more = this.moreLines ?? []
    for (let i = 0; i < more.length; i += 2) parts.push(LINE_FEED, bytes.subarray(more[i], more[i + 1]))
    this.moreLines = null
    this.deliver(sink, Buffer.concat(parts), lines)
  }

  private deliver(sink: FrameSink, data: Buffer, lines: number): void {
    this.deliverIn(sink, data, 0, data.length, lines)
  }

  private deliverIn(sink: FrameSink, bytes: Buffer, start: number, end: number, lines: number): void {
    if (end - start > FEW_VALUES_BYTES && !hasFewValues(bytes.subarray(start, end), this.bounds)) this.exceeded = true
    else if (!this.exceeded) sink.onData(bytes, start, end, lines)
  }

  private passBom(bytes: Buffer, end: number): boolean {
    if (bytes[0] === 0xef) {
      if (end < BOM_BYTES) return false
      if (bytes[1] === 0xbb && bytes[2] === 0xbf) {
        this.eventStart = BOM_BYTES
        this.lineStart = BOM_BYTES
        this.searchFrom = BOM_BYTES
      }
    }
    this.atStart = false
    return true
  }

  private appendToCarry(chunk: Buffer): void {
    const length = this.carryLength + chunk.length
    if (length + GUARD_BYTES > this.carry.length) {
      const grown = Buffer.allocUnsafe(Math.max(length + GUARD_BYTES, this.carry.length * 2, CARRY_BYTES))
      this.carry.copy(grown, 0, 0, this.carryLength)
      this.carry = grown
    }
    chunk.copy(this.carry, this.carryLength)
    this.carry[length] = LF
    this.carry[length + 1] = CR
    this.carryLength = length
  }

  private keepRest(bytes: Buffer, end: number): void {
    const from = this.eventStart
    const rest = end - from
    if (bytes === this.carry && this.carryLength > 0) {
      if (from > 0) this.carry.copyWithin(0, from, end)
      this.carryLength = rest
      if (rest === 0 && this.carry.length > CARRY_KEEP_BYTES) this.carry = NOTHING
    } else if (rest > 0) {
      this.carryLength = 0
      this.appendToCarry(bytes.subarray(from, end))
    }
    this.rebase(from)
  }

  private rebase(by: number): void {
    if (by === 0) return
    this.eventStart = 0
    this.lineStart -= by
    this.searchFrom -= by
    if (this.dataLines === 0) return
    this.dataStart -= by
    this.dataEnd -= by
    if (this.moreLines !== null) this.moreLines = this.moreLines.map((position) => position - by)
  }
}

const LINE_FEED = Buffer.from('\n')
const ERROR = Buffer.from('error')

/** The position of the value of a line `data: value`; -1 when the line has another field. */
export function dataStart(bytes: Buffer, start: number, end: number): number {
  const isData =
    end - start >= 5 &&
    bytes[start] === LETTER_D &&
    bytes[start + 1] === 0x61 &&
    bytes[start + 2] === 0x74 &&
    bytes[start + 3] === 0x61 &&
    bytes[start + 4] === COLON
  if (!isData) return -1
  return start + 5 < end && bytes[start + 5] === SPACE ? start + 6 : start + 5
}
