/** A shorter text may well be said twice, and one that came in a single piece even more so. */
const CHARACTERS_MIN = 8
const ONE_PIECE_CHARACTERS_MIN = 32
/** A text whose beginning and length are the same is the same. */
const HEAD_CHARACTERS = 32

/**
 * Recognizes a delta that has the whole text of the answer once more, as some providers send it last. Texts are compared by
 * their length and their beginning, so that nothing of a long answer has to be kept.
 */
export class RepeatedText {
  /** Of the text so far; may be added to where a piece neither has this length nor is watched. */
  length = 0
  /** Every piece has to be shown, because the beginning of the text is not complete. */
  isWatched = true
  private head = ''
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
    const { head } = this
    const beginning = bytes.toString('latin1', start, Math.min(end, start + HEAD_CHARACTERS))
    if (this.mayBeWhole(end - start) && beginning.startsWith(head)) return true
    this.note(end - start, beginning)
    return false
  }

  /** Takes a piece that is passed on, whatever it is. */
  add(text: string): void {
    this.note(text.length, text)
  }

  private note(length: number, text: string): void {
    this.pieces++
    this.length += length
    if (!this.isWatched) return
    this.head += text.slice(0, HEAD_CHARACTERS - this.head.length)
    this.isWatched = this.head.length < HEAD_CHARACTERS
  }

  private mayBeWhole(length: number): boolean {
    if (length !== this.length) return false
    return length >= (this.pieces > 1 ? CHARACTERS_MIN : ONE_PIECE_CHARACTERS_MIN)
  }
}

/** Keeps a piece of a text that is all before it once more, until what follows shows whether it was the last. */
export class HeldText {
  private readonly said = new RepeatedText()
  private held = ''

  /** Takes the next piece, which is not empty, after `release`. @returns whether it is held */
  holds(piece: string): boolean {
    if (!this.said.repeats(piece)) return false
    this.held = piece
    return true
  }

  /** More of the text follows. @returns the piece that was held, now a part of the text; '' for none */
  release(): string {
    const { held } = this
    if (held === '') return ''
    this.held = ''
    this.said.add(held)
    return held
  }

  /** The text has ended. */
  drop(): void {
    this.held = ''
  }
}
