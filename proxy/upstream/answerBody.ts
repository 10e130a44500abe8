/** The body of an answer that is read to its end before anything is made of it. */
export class AnswerBody {
  private pieces: Buffer[] = []
  private bytes = 0

  /**
   * Keeps a copy of bytes that are only lent.
   * @param bytesMax of the whole body
   * @returns false when the body is longer, which is then of no use
   */
  add(bytes: Buffer, bytesMax: number): boolean {
    this.bytes += bytes.length
    if (this.bytes > bytesMax) return false
    this.pieces.push(Buffer.from(bytes))
    return true
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
    this.pieces = []
    this.bytes = 0
  }
}
