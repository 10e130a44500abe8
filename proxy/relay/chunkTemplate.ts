import type { ChunkScan } from './chunkScan.ts'
import { OutBuffer } from './outBuffer.ts'
import { appendPart, type ChunkIdentity, DATA, END } from './rewrite.ts'

const QUOTE = 34
const BACKSLASH = 92
const NOTHING = Buffer.alloc(0)
/** Chunks in a row that may differ from what was learned before learning is given up for the stream. */
const MISSES_MAX = 8

// What is learned is copied out of it at once.
const scratch = new OutBuffer()

/**
 * The chunks of a stream are mostly the same bytes but for their text. A template is one of them cut open there: a chunk
 * with the same bytes before and after its text has the same members, so that it need not be scanned again, and what the
 * client gets of it is known but for the text.
 */
export class ChunkTemplate {
  /** The inside of the text of the chunk that matched last. */
  textStart = 0
  textEnd = 0

  private before = NOTHING
  private after = NOTHING
  private outBefore = NOTHING
  private outAfter = NOTHING
  private misses = 0

  /**
   * Learns from a chunk that was just scanned, if all that it says is one text.
   * @param dropUsage whether the client does not get its `usage`, which then is null
   */
  learn(bytes: Buffer, start: number, end: number, scan: ChunkScan, identity: ChunkIdentity, dropUsage: boolean): void {
    if (this.misses > MISSES_MAX || scan.outputs !== 1 || scan.textStart < 0 || scan.finished) return
    if (scan.usageStart >= 0 && !scan.usageIsNull) return
    this.misses++
    this.before = Buffer.from(bytes.subarray(start, scan.textStart))
    this.after = Buffer.from(bytes.subarray(scan.textEnd, end))
    scratch.clear()
    scratch.appendAll(DATA)
    appendPart(scratch, bytes, start, scan.textStart, scan, identity, dropUsage)
    this.outBefore = Buffer.from(scratch.view())
    scratch.clear()
    appendPart(scratch, bytes, scan.textEnd, end, scan, identity, dropUsage)
    scratch.appendAll(END)
    this.outAfter = Buffer.from(scratch.view())
  }

  /** Whether a chunk is the learned one but for its text, which is not empty. */
  matches(bytes: Buffer, start: number, end: number): boolean {
    const { before, after } = this
    if (before.length === 0 || end - start <= before.length + after.length) return false
    for (let i = 0; i < before.length; i++) if (bytes[start + i] !== before[i]) return false
    const textStart = start + before.length
    let at = textStart
    while (at < end && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
    if (end - at !== after.length || at === textStart) return false
    for (let i = 0; i < after.length; i++) if (bytes[at + i] !== after[i]) return false
    this.textStart = textStart
    this.textEnd = at
    this.misses = 0
    return true
  }

  /** Appends the chunk that matched last, as the client gets it. */
  append(out: OutBuffer, bytes: Buffer): void {
    out.appendAll(this.outBefore)
    out.append(bytes, this.textStart, this.textEnd)
    out.appendAll(this.outAfter)
  }
}
