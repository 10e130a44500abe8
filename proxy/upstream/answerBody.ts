import { copyInTurns } from '../../contract/std/copyInTurns.ts'
import { AnswerJson } from '../json/answerJson.ts'
import { AnswerScan, type ScanBounds } from '../json/answerScan.ts'
import type { AnswerMemory } from './answerMemory.ts'

/** Smaller bodies cannot have so many values that reading them takes long. */
const COUNTED_BYTES_MIN = 65_536

/** Bytes that are copied in one turn of the event loop. */
const TURN_BYTES = 1_048_576

/**
 * Why an answer is not kept: it is too long or has too many values, or the answers of the process take all memory that they
 * may take.
 */
export type BodyExcess = 'too_long' | 'no_memory'

/** The body of an answer that is read to its end before anything is made of it. */
export class AnswerBody {
  private readonly memory: AnswerMemory | undefined
  private pieces: Buffer[] = []
  private bytes = 0
  private readonly bounds: ScanBounds | undefined
  private scan: AnswerScan | undefined

  /**
   * @param memory that the body is counted in; absent for bodies of a few KiB
   * @param bounds of its JSON, which are checked while it arrives; absent for a body that is not taken as JSON
   */
  constructor(memory?: AnswerMemory, bounds?: ScanBounds) {
    this.memory = memory
    this.bounds = bounds
  }

  /**
   * Keeps a copy of bytes that are only lent.
   * @param bytesMax of the whole body
   * @returns why the body, which is released then, is of no use
   */
  add(bytes: Buffer, bytesMax: number): BodyExcess | null {
    const isShort = this.bytes + bytes.length <= bytesMax
    const hasMemory = isShort && this.memory?.take(bytes.length) !== false
    if (hasMemory) {
      this.bytes += bytes.length
      this.pieces.push(Buffer.from(bytes))
      if (this.count(bytes)) return null
    }
    this.clear()
    return isShort && !hasMemory ? 'no_memory' : 'too_long'
  }

  /** Bytes of the body so far. */
  get length(): number {
    return this.bytes
  }

  /** The body; it is released here. */
  take(): Buffer {
    const { pieces } = this
    this.clear()
    const [first] = pieces
    return first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces)
  }

  /** Whether it is counted in this memory. */
  isIn(memory: AnswerMemory): boolean {
    return this.memory === memory
  }

  /**
   * The body as JSON in memory that threads share, where it is large; its memory is given back then. No turn of the event loop
   * copies more than a part of it.
   */
  async gather(): Promise<AnswerJson> {
    const { pieces, bytes, memory } = this
    const cuts = this.scan?.cuts
    this.scan = undefined
    this.pieces = []
    this.bytes = 0
    const whole = Buffer.from(new SharedArrayBuffer(bytes))
    await copyInTurns(pieces, whole, TURN_BYTES)
    memory?.release(bytes)
    return new AnswerJson(whole, cuts)
  }

  /** The body as JSON; it is released here. */
  takeJson(): AnswerJson {
    const cuts = this.scan?.cuts
    return new AnswerJson(this.take(), cuts)
  }

  clear(): void {
    this.scan = undefined
    if (this.bytes === 0) return
    this.memory?.release(this.bytes)
    this.pieces = []
    this.bytes = 0
  }

  /** Counts the values of the last piece, and those of the pieces before it once the body is not a small one any more. */
  private count(last: Buffer): boolean {
    if (this.bounds === undefined || this.bytes < COUNTED_BYTES_MIN) return true
    if (this.scan !== undefined) return this.scan.push(last)
    const scan = new AnswerScan(this.bounds)
    this.scan = scan
    return this.pieces.every((piece) => scan.push(piece))
  }
}
