/** A shorter text may well be said twice, and one that came in a single piece even more so. */
const CHARACTERS_MIN = 8
const ONE_PIECE_CHARACTERS_MIN = 32
/** A text whose beginning and length are the same is the same. */
const HEAD_CHARACTERS = 128

const NO_CODES = new Uint16Array(0)

/** Characters of a text of JSON as its bytes, or of a JavaScript string. */
type Codes = Uint8Array | Uint16Array

/**
 * Recognizes a delta that has the whole text of the answer once more, as some providers send it last. Texts are compared by
 * their length and their beginning, so that nothing of a long answer has to be kept.
 */
export class RepeatedText {
  /** Of the text so far; may be added to where a piece neither has this length nor is watched. */
  length = 0
  /** Every piece has to be shown, because the beginning of the text is not complete. */
  isWatched = true
  /** Codes of the characters that the text begins with, of which the first `headLength` are known. */
  private head = NO_CODES
  private headLength = 0
  private pieces = 0

  /**
   * Takes the next piece of the text.
   * @returns whether it is all that came before it; such a piece is not taken
   */
  repeats(text: string): boolean {
    const codes = codesOf(text)
    const isWhole = this.mayBeWhole(text.length) && this.isHead(codes, 0)
    if (!isWhole) this.note(text.length, codes, 0)
    return isWhole
  }

  /** The same for bytes [start, end), the inside of a text of JSON. */
  repeatsBytes(bytes: Buffer, start: number, end: number): boolean {
    if (this.mayBeWhole(end - start) && this.isHead(bytes, start)) return true
    this.note(end - start, bytes, start)
    return false
  }

  /** Takes a piece that is passed on, whatever it is. */
  add(text: string): void {
    this.note(text.length, codesOf(text), 0)
  }

  private note(length: number, codes: Codes, start: number): void {
    this.pieces++
    this.length += length
    if (!this.isWatched) return
    if (this.head === NO_CODES) this.head = new Uint16Array(HEAD_CHARACTERS)
    const { head, headLength } = this
    const count = Math.min(length, HEAD_CHARACTERS - headLength)
    for (let i = 0; i < count; i++) head[headLength + i] = codes[start + i] as number
    this.headLength = headLength + count
    this.isWatched = this.headLength < HEAD_CHARACTERS
  }

  private isHead(codes: Codes, start: number): boolean {
    const { head, headLength } = this
    for (let i = 0; i < headLength; i++) if (head[i] !== codes[start + i]) return false
    return true
  }

  private mayBeWhole(length: number): boolean {
    if (length !== this.length) return false
    return length >= (this.pieces > 1 ? CHARACTERS_MIN : ONE_PIECE_CHARACTERS_MIN)
  }
}

function codesOf(text: string): Uint16Array {
  return Uint16Array.from({ length: Math.min(text.length, HEAD_CHARACTERS) }, (_, i) => text.charCodeAt(i))
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
