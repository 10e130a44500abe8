import { soundStringEnd, soundValueEnd } from './soundJson.ts'

const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_BRACKET = 91
const BACKSLASH = 92
const OPEN_BRACE = 123
const CLOSE_BRACE = 125
/** An escaped letter has six bytes in place of one. */
const ESCAPED_LETTER_MORE_BYTES = 5

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
    const at = soundStringEnd(this.bytes, this.at, this.end)
    if (at < 0) return false
    this.at = at
    return true
  }

  protected passValue(): boolean {
    const at = soundValueEnd(this.bytes, this.at, this.end)
    if (at < 0) return false
    this.at = at
    return true
  }
}

/** Whether the name with its quotes at [nameStart, nameEnd + 1) is this one. */
export function isName(bytes: Buffer, nameStart: number, nameEnd: number, name: Buffer): boolean {
  if (nameEnd - nameStart - 1 !== name.length) return false
  for (let i = 0; i < name.length; i++) if (bytes[nameStart + 1 + i] !== name[i]) return false
  return true
}

/** Whether the name is one of these. */
export function isAnyName(bytes: Buffer, nameStart: number, nameEnd: number, names: readonly Buffer[]): boolean {
  for (const name of names) if (isName(bytes, nameStart, nameEnd, name)) return true
  return false
}

/** Whether that name is this one of letters alone, in whatever escapes: readers of JSON cannot tell them apart. */
export function isSameName(bytes: Buffer, nameStart: number, nameEnd: number, name: Buffer): boolean {
  const moreBytes = nameEnd - nameStart - 1 - name.length
  if (moreBytes === 0) return isName(bytes, nameStart, nameEnd, name)
  if (moreBytes < 0 || moreBytes % ESCAPED_LETTER_MORE_BYTES !== 0) return false
  let at = nameStart
  while (at < nameEnd && bytes[at] !== BACKSLASH) at++
  if (at === nameEnd) return false
  return JSON.parse(bytes.toString('utf8', nameStart, nameEnd + 1)) === name.toString()
}
