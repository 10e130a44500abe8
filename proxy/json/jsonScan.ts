const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_BRACKET = 91
const BACKSLASH = 92
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

/**
 * Scans JSON bytes in one pass, without making a string or an object. Subclasses for single formats record the members that
 * they need. ChunkScan has these steps for itself: shared by two classes, they were measured to cost it 13 % a chunk.
 */
export abstract class JsonScan {
  protected bytes: Buffer = Buffer.alloc(0)
  protected end = 0
  protected at = 0

  /** Passes the value of a member whose name, with its quotes, is [nameStart, nameEnd + 1). */
  protected abstract value(level: number, nameStart: number, nameEnd: number): boolean

  // Reads the members of an object up to its closing brace. `level` says which names matter there.
  protected members(level: number): boolean {
    this.skipSpace()
    if (this.bytes[this.at] === CLOSE_BRACE) {
      this.at++
      return this.at <= this.end
    }
    while (this.at < this.end) {
      this.skipSpace()
      const nameStart = this.at
      if (this.take() !== QUOTE || !this.passString()) return false
      const nameEnd = this.at - 1
      this.skipSpace()
      if (this.take() !== COLON) return false
      this.skipSpace()
      if (!this.value(level, nameStart, nameEnd)) return false
      this.skipSpace()
      const separator = this.take()
      if (separator === CLOSE_BRACE) return true
      if (separator !== COMMA) return false
    }
    return false
  }

  // Neither null nor "", [] or {}: of those only strings, arrays and objects count as content.
  protected holdsSomething(start: number): boolean {
    const first = this.bytes[start]
    return (first === QUOTE || first === OPEN_BRACKET || first === OPEN_BRACE) && this.at - start > 2
  }

  protected isName(nameStart: number, nameEnd: number, name: Buffer): boolean {
    return isName(this.bytes, nameStart, nameEnd, name)
  }

  protected take(): number {
    return this.at < this.end ? (this.bytes[this.at++] as number) : -1
  }

  protected skipSpace(): void {
    let at = this.at
    while (at < this.end) {
      const c = this.bytes[at]
      if (c !== 32 && c !== 10 && c !== 13 && c !== 9) break
      at++
    }
    this.at = at
  }

  /** From after the opening quote to after the closing one. */
  protected passString(): boolean {
    const { bytes, end } = this
    let at = this.at
    while (at < end) {
      const c = bytes[at]
      if (c === QUOTE) {
        this.at = at + 1
        return true
      }
      at += c === BACKSLASH ? 2 : 1
    }
    return false
  }

  protected passValue(): boolean {
    const first = this.bytes[this.at]
    if (first === QUOTE) {
      this.at++
      return this.passString()
    }
    if (first === OPEN_BRACE || first === OPEN_BRACKET) return this.passNested()
    const start = this.at
    while (this.at < this.end) {
      const c = this.bytes[this.at] as number
      if (c === COMMA || c === CLOSE_BRACE || c === CLOSE_BRACKET || c <= 32) break
      this.at++
    }
    return this.at > start
  }

  protected passNested(): boolean {
    let depth = 0
    while (this.at < this.end) {
      const c = this.bytes[this.at++]
      if (c === QUOTE) {
        if (!this.passString()) return false
      } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
        depth++
      } else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
        depth--
        if (depth === 0) return true
      }
    }
    return false
  }
}

/** Whether the name with its quotes at [nameStart, nameEnd + 1) is this one. */
export function isName(bytes: Buffer, nameStart: number, nameEnd: number, name: Buffer): boolean {
  if (nameEnd - nameStart - 1 !== name.length) return false
  for (let i = 0; i < name.length; i++) if (bytes[nameStart + 1 + i] !== name[i]) return false
  return true
}
