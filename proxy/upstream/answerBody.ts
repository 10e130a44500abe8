import type { AnswerMemory } from './answerMemory.ts'

/** Why an answer is not kept: it is too long, or the answers of the process take all memory that they may take. */
export type BodyExcess = 'too_long' | 'no_memory'

/** The body of an answer that is read to its end before anything is made of it. */
export class AnswerBody {
  private readonly memory: AnswerMemory | undefined
  private pieces: Buffer[] = []
  private bytes = 0

  /** @param memory that the body is counted in; absent for bodies of a few KiB */
  constructor(memory?: AnswerMemory) {
    this.memory = memory
  }

  /**
   * Keeps a copy of bytes that are only lent.
   * @param bytesMax of the whole body
   * @returns why the body, which is released then, is of no use
   */
  add(bytes: Buffer, bytesMax: number): BodyExcess | null {
    const excess = this.bytes + bytes.length > bytesMax ? 'too_long' : null
    if (excess === null && this.memory?.take(bytes.length) !== false) {
      this.bytes += bytes.length
      this.pieces.push(Buffer.from(bytes))
      return null
    }
    this.clear()
    return excess ?? 'no_memory'
  }

  /** The body; it is released here. */
  take(): Buffer {
    const { pieces } = this
    this.clear()
    const [first] = pieces
    return first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces)
  }

  clear(): void {
    if (this.bytes === 0) return
    this.memory?.release(this.bytes)
    this.pieces = []
    this.bytes = 0
  }
}
