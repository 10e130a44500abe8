import { escapeEnd } from '../../json/soundJson.ts'
import { copyOf, OutBuffer } from '../../sse/outBuffer.ts'
import type { ChunkScan } from './chunkScan.ts'
import type { HeldRepeat } from './heldRepeat.ts'
import { appendPart, type ChunkIdentity, DATA, END } from './rewrite.ts'

const QUOTE = 34
const BACKSLASH = 92
const SPACE = 32
const NOTHING = Buffer.alloc(0)
/** Consecutive chunks that may differ from the learned template before the stream stops learning. */
const MISSES_MAX = 8

// Templates are copied out of it immediately.
const scratch = new OutBuffer()

/**
 * The chunks of a stream are mostly the same bytes except for their text, and for the padding that some providers add after
 * it. A template is one of them cut open there: a chunk with the same bytes around them has the same members, so that it need
 * not be scanned again, and its bytes for the client are known except for both.
 *
 *     | before | text | middle | padding | tail | blank line, "data: ", before | text | ...
 *                                        '------------- between --------------'
 */
export class ChunkTemplate {
  /** The inside of the text of the chunk that was looked at last. */
  textStart = 0
  textEnd = 0
  /** The text is that of the message, or reasoning. */
  isContent = false
  isThought = false
  /** Of the last run. */
  runChunks = 0
  runBytes = 0

  private before: Buffer = NOTHING
  /** The bytes between text and padding; empty for chunks without a padding. */
  private middle: Buffer = NOTHING
  private tail: Buffer = NOTHING
  /** The tail and the blank line. */
  private ending: Buffer = NOTHING
  private between: Buffer = NOTHING
  private outBefore: Buffer = NOTHING
  private outMiddle: Buffer = NOTHING
  private outTail: Buffer = NOTHING
  private outBetween: Buffer = NOTHING
  private paddingStart = 0
  /** The end of the padding, or of the text. */
  private insideEnd = 0
  /** The event that was looked at last is followed by the beginning of another such chunk. */
  private isFollowed = false
  private misses = 0

  /**
   * Learns from a chunk that was just scanned, if its only content is one text.
   * @param dropUsage whether the client does not get its `usage`, which then is null
   */
  learn(bytes: Buffer, start: number, end: number, scan: ChunkScan, identity: ChunkIdentity, dropUsage: boolean): void {
    if (this.misses > MISSES_MAX || scan.outputs !== 1 || scan.textStart < 0 || scan.finished) return
    if (scan.usageStart >= 0 && !scan.usageIsNull) return
    this.misses++
    this.isContent = scan.choice.texts === 1
    this.isThought = scan.choice.thoughts === 1
    const isPadded = scan.paddingStart > scan.textEnd
    const tailStart = isPadded ? scan.paddingEnd : scan.textEnd
    this.before = copyOf(bytes, start, scan.textStart)
    this.middle = isPadded ? copyOf(bytes, scan.textEnd, scan.paddingStart) : NOTHING
    this.tail = copyOf(bytes, tailStart, end)
    this.ending = joined([this.tail, END])
    this.between = joined([this.ending, DATA, this.before])
    const written = (from: number, to: number): Buffer => {
      scratch.clear()
      appendPart(scratch, bytes, from, to, scan, identity, dropUsage)
      return scratch.copy()
    }
    this.outBefore = joined([DATA, written(start, scan.textStart)])
    this.outMiddle = isPadded ? written(scan.textEnd, scan.paddingStart) : NOTHING
    this.outTail = joined([written(tailStart, end), END])
    this.outBetween = joined([this.outTail, this.outBefore])
  }

  /**
   * Looks whether bytes[start, end) begins with the learned chunk but for its text, which is not empty.
   * @returns where that chunk ends, or -1
   */
  match(bytes: Buffer, start: number, end: number): number {
    if (!this.begins(bytes, start, end) || !isAt(this.tail, bytes, this.insideEnd, end)) return -1
    this.misses = 0
    return this.insideEnd + this.tail.length
  }

  /** Looks whether bytes[start, end) begins as the learned chunk does, with a text that is not empty. */
  begins(bytes: Buffer, start: number, end: number): boolean {
    return this.before.length > 0 && isAt(this.before, bytes, start, end) && this.passInside(bytes, start, end)
  }

  /** Appends the chunk that was looked at last, as the client gets it. */
  append(out: OutBuffer, bytes: Buffer): void {
    out.appendAll(this.outBefore)
    this.appendInside(out, bytes)
    out.appendAll(this.outTail)
  }

  /**
   * Appends the event whose chunk has begun, and all that follow it directly, as long as they are like it. The end of one and the
   * beginning of the next are compared, and copied, together: most of the bytes of a stream are touched in few calls.
   * @param watch sees the texts; one that it holds ends the run before its chunk
   * @returns the end of the last event, after its blank line; -1 for none
   */
  appendRun(out: OutBuffer, bytes: Buffer, end: number, watch: HeldRepeat | null): number {
    this.runChunks = this.runBytes = 0
    let runEnd = -1
    let isBegun = true
    while (isBegun) {
      const eventEnd = this.eventEnd(bytes, end)
      if (eventEnd < 0 || watch?.repeats(bytes, this.textStart, this.textEnd) === true) break
      if (runEnd < 0) out.appendAll(this.outBefore)
      runEnd = eventEnd
      this.misses = 0
      this.runChunks++
      this.runBytes += this.textEnd - this.textStart
      this.appendInside(out, bytes)
      out.appendAll(this.isFollowed ? this.outBetween : this.outTail)
      if (!this.isFollowed) return runEnd
      isBegun = this.passInside(bytes, runEnd + DATA.length, end)
    }
    if (runEnd >= 0) out.takeBack(this.outBefore.length)
    return runEnd
  }

  /** @returns the end of the event whose chunk has begun; -1 for another chunk, or one that is not whole yet */
  private eventEnd(bytes: Buffer, end: number): number {
    const { insideEnd, ending, between } = this
    this.isFollowed = isAt(between, bytes, insideEnd, end)
    return this.isFollowed || isAt(ending, bytes, insideEnd, end) ? insideEnd + ending.length : -1
  }

  private appendInside(out: OutBuffer, bytes: Buffer): void {
    out.append(bytes, this.textStart, this.textEnd)
    if (this.middle.length === 0) return
    out.appendAll(this.outMiddle)
    out.append(bytes, this.paddingStart, this.insideEnd)
  }

  /** @returns false for a chunk without a text, or without the learned bytes before a padding */
  private passInside(bytes: Buffer, start: number, end: number): boolean {
    const { middle } = this
    const textStart = start + this.before.length
    const at = endOfText(bytes, textStart, end)
    if (at === textStart) return false
    this.textStart = textStart
    this.textEnd = this.insideEnd = at
    if (middle.length === 0) return true
    this.paddingStart = at + middle.length
    this.insideEnd = endOfText(bytes, this.paddingStart, end)
    return isAt(middle, bytes, at, end)
  }
}

function isAt(part: Buffer, bytes: Buffer, start: number, end: number): boolean {
  const partEnd = start + part.length
  return partEnd <= end && part.compare(bytes, start, partEnd) === 0
}

function joined(parts: readonly Buffer[]): Buffer {
  scratch.clear()
  for (const part of parts) scratch.appendAll(part)
  return scratch.copy()
}

/** The end of the JSON string whose inside begins at `start`, or the first character that it cannot have. */
function endOfText(bytes: Buffer, start: number, end: number): number {
  let at = start
  while (at < end) {
    const c = bytes[at] as number
    if (c === QUOTE || c < SPACE) return at
    const next = c === BACKSLASH ? escapeEnd(bytes, at, end) : at + 1
    if (next < 0) return at
    at = next
  }
  return at
}
