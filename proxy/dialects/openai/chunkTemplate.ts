import { escapeEnd } from '../../json/soundJson.ts'
import { copyOf, OutBuffer } from '../../sse/outBuffer.ts'
import type { ChunkScan } from './chunkScan.ts'
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
 */
export class ChunkTemplate {
  /** The inside of the text of the chunk that matched last. */
  textStart = 0
  textEnd = 0
  /** The text is that of the message, or reasoning. */
  isContent = false
  isThought = false

  private before = NOTHING
  private after = NOTHING
  private outBefore = NOTHING
  private outAfter = NOTHING
  /** The bytes after the padding; empty for chunks without one. */
  private last = NOTHING
  private outLast = NOTHING
  private paddingStart = 0
  private paddingEnd = 0
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
    this.before = copyOf(bytes, start, scan.textStart)
    const afterEnd = scan.paddingStart > scan.textEnd ? scan.paddingStart : end
    this.after = copyOf(bytes, scan.textEnd, afterEnd)
    scratch.clear()
    scratch.appendAll(DATA)
    appendPart(scratch, bytes, start, scan.textStart, scan, identity, dropUsage)
    this.outBefore = scratch.copy()
    scratch.clear()
    appendPart(scratch, bytes, scan.textEnd, afterEnd, scan, identity, dropUsage)
    if (afterEnd === end) scratch.appendAll(END)
    this.outAfter = scratch.copy()
    this.last = this.outLast = NOTHING
    if (afterEnd === end) return
    this.last = copyOf(bytes, scan.paddingEnd, end)
    scratch.clear()
    appendPart(scratch, bytes, scan.paddingEnd, end, scan, identity, dropUsage)
    scratch.appendAll(END)
    this.outLast = scratch.copy()
  }

  /**
   * Looks whether bytes[start, end) begins with the learned chunk but for its text, which is not empty.
   * @returns where that chunk ends, or -1
   */
  match(bytes: Buffer, start: number, end: number): number {
    const { before, after } = this
    const textStart = start + before.length
    if (before.length === 0 || end - textStart <= after.length) return -1
    if (before.compare(bytes, start, textStart) !== 0) return -1
    const at = endOfText(bytes, textStart, end)
    if (end - at < after.length || at === textStart) return -1
    if (after.compare(bytes, at, at + after.length) !== 0) return -1
    const matchEnd = this.last.length === 0 ? at + after.length : this.passPadding(bytes, at + after.length, end)
    if (matchEnd < 0) return -1
    this.textStart = textStart
    this.textEnd = at
    this.misses = 0
    return matchEnd
  }

  /** @returns where the chunk ends whose padding begins at `start`, or -1 */
  private passPadding(bytes: Buffer, start: number, end: number): number {
    const { last } = this
    const at = endOfText(bytes, start, end)
    const matchEnd = at + last.length
    if (matchEnd > end || last.compare(bytes, at, matchEnd) !== 0) return -1
    this.paddingStart = start
    this.paddingEnd = at
    return matchEnd
  }

  /** Appends the chunk that matched last, as the client gets it. */
  append(out: OutBuffer, bytes: Buffer): void {
    out.appendAll(this.outBefore)
    out.append(bytes, this.textStart, this.textEnd)
    out.appendAll(this.outAfter)
    if (this.last.length === 0) return
    out.append(bytes, this.paddingStart, this.paddingEnd)
    out.appendAll(this.outLast)
  }
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
