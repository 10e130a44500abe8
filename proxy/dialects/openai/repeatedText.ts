/** A shorter text may well be said twice, and one that came in a single piece even more so. */
const CHARACTERS_MIN = 8
const ONE_PIECE_CHARACTERS_MIN = 32
const HEAD_CHARACTERS = 256

/**
 * Recognizes a delta that has the whole text of the answer once more, as some providers send it last. Texts are compared by
 * their length and their beginning, so that nothing of a long answer has to be kept.
 */
export class RepeatedText {
  private head = ''
  private length = 0
  private pieces = 0

  /**
   * Takes the next piece of the text.
   * @returns whether it is all that came before it; such a piece is not taken
   */
  repeats(text: string): boolean {
    const isWhole = this.mayBeWhole(text.length) && text.startsWith(this.head)
    if (!isWhole) this.add(text)
    return isWhole
  }

  /** The same for bytes [start, end), the inside of a text of JSON. */
  repeatsBytes(bytes: Buffer, start: number, end: number): boolean {
    const length = end - start
    if (this.mayBeWhole(length) && bytes.toString('latin1', start, start + this.head.length) === this.head) return true
    this.note(length)
    const left = HEAD_CHARACTERS - this.head.length
    if (left > 0) this.head += bytes.toString('latin1', start, Math.min(end, start + left))
    return false
  }

  /** Takes a piece that is passed on, whatever it is. */
  add(text: string): void {
    this.note(text.length)
    if (this.head.length < HEAD_CHARACTERS) this.head += text.slice(0, HEAD_CHARACTERS - this.head.length)
  }

  private note(length: number): void {
    this.pieces++
    this.length += length
  }

  private mayBeWhole(length: number): boolean {
    if (length !== this.length) return false
    return length >= (this.pieces > 1 ? CHARACTERS_MIN : ONE_PIECE_CHARACTERS_MIN)
  }
}
