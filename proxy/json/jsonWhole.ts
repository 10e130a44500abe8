const QUOTE = 34
const BACKSLASH = 92

/** Detects, piece by piece, the end of the text of a JSON object. */
export class JsonWhole {
  /** The object that began has ended. */
  whole = false
  private depth = 0
  private inString = false
  private escaped = false

  /** Forgets what was read. */
  restart(): void {
    this.whole = this.inString = this.escaped = false
    this.depth = 0
  }

  /** @returns how much of the piece belongs to the object */
  push(piece: string): number {
    let at = 0
    for (; at < piece.length && !this.whole; at++) {
      const c = piece.charCodeAt(at)
      if (this.escaped) this.escaped = false
      else if (this.inString) this.passInString(c)
      else this.passOutside(c)
    }
    return at
  }

  private passInString(c: number): void {
    if (c === QUOTE) this.inString = false
    else if (c === BACKSLASH) this.escaped = true
  }

  private passOutside(c: number): void {
    if (c === QUOTE) this.inString = true
    else if (c === 91 || c === 123) this.depth++
    else if (c === 93 || c === 125) {
      this.depth--
      this.whole = this.depth <= 0
    }
  }
}
