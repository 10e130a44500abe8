import { JsonFault } from './jsonFault.ts'

const QUOTE = 34
const BACKSLASH = 92
const LOWER_U = 117
const DELETE = 127
const SPACE = 32
const ZERO = 48
const NINE = 57
const END = -1
const BYTE_ORDER_MARK = Buffer.from('\ufeff')
const SHORT_STRING_BYTES = 256
/** A string of so many bytes is a long one. */
export const LONG_STRING_BYTES = 2_048
/** What a step reads of a long string. Smaller pieces would be copied again by the collection of garbage. */
const PIECE_BYTES = 262_144
/** Escaped quotes in a piece, each of which has to be looked at. */
const PIECE_QUOTES = 4_096
/** Blanks in a row, which take a millisecond. */
const BLANKS_MAX = 1_048_576
/** Integers of so many digits are exact. */
const EXACT_DIGITS = 15
const SCALAR_BYTES_MAX = 1_024
const SCALAR = /^(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)$/
const ESCAPE_BYTES = 2
const UNICODE_ESCAPE_BYTES = 6

/** A place in JSON bytes, and the reading of what stands there. */
export class JsonCursor {
  at = 0
  private readonly bytes: Buffer

  constructor(bytes: Buffer) {
    this.bytes = bytes
    if (bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) this.at = BYTE_ORDER_MARK.length
  }

  /** The next byte that is no space, which is not taken. @throws JsonFault incomplete at the end */
  peek(): number {
    const c = this.skipSpace()
    if (c === END) throw new JsonFault('incomplete', this.at)
    return c
  }

  /** @throws JsonFault when something is left */
  expectEnd(): void {
    if (this.skipSpace() !== END) throw this.unexpected()
  }

  unexpected(): JsonFault {
    return new JsonFault(this.at >= this.bytes.length ? 'incomplete' : 'invalid', this.at)
  }

  /** Takes a number, true, false or null. */
  scalar(): number | boolean | null {
    const { bytes } = this
    const start = this.at
    const most = Math.min(bytes.length, start + SCALAR_BYTES_MAX)
    let end = start
    let number = 0
    while (end < most && (bytes[end] as number) >= ZERO && (bytes[end] as number) <= NINE)
      number = number * 10 + (bytes[end++] as number) - ZERO
    const isPlain = end > start && end - start <= EXACT_DIGITS && (bytes[start] !== ZERO || end === start + 1)
    if (!(isPlain && end < bytes.length && !isScalarByte(bytes[end] as number))) {
      while (end < most && isScalarByte(bytes[end] as number)) end++
      if (end === bytes.length) throw new JsonFault('incomplete', end)
      const text = bytes.toString('latin1', start, end)
      if (!SCALAR.test(text)) throw this.unexpected()
      this.at = end
      return JSON.parse(text)
    }
    this.at = end
    return number
  }

  /** Takes the string that begins here when it is a short one of plain characters; undefined for any other. */
  shortString(): string | undefined {
    const { bytes } = this
    const start = this.at + 1
    const most = Math.min(bytes.length, start + SHORT_STRING_BYTES)
    for (let end = start; end < most; end++) {
      const c = bytes[end] as number
      if (c === QUOTE) {
        this.at = end + 1
        return bytes.toString('latin1', start, end)
      }
      if (c < SPACE || c === BACKSLASH || c >= DELETE) return undefined
    }
    return undefined
  }

  /** Takes the string that begins here, a piece in each step. */
  *longString(): Generator<undefined, string, undefined> {
    let text = ''
    for (let from = this.at + 1; ; ) {
      const piece = this.piece(from)
      text += this.decode(from, piece.end)
      if (piece.closed) {
        this.at = piece.end + 1
        return text
      }
      from = piece.end
      yield
    }
  }

  /** Takes the string that begins here as the name of a member. @throws JsonFault name when it is longer than a piece */
  longName(): string {
    const reading = this.longString().next()
    if (reading.done !== true) throw new JsonFault('name', this.at)
    return reading.value
  }

  /** Where the string from here ends, or where it can be cut. */
  private piece(from: number): { readonly end: number; readonly closed: boolean } {
    const { bytes } = this
    const most = Math.min(bytes.length, from + PIECE_BYTES)
    const window = bytes.subarray(from, most)
    let quotes = 0
    for (let quote = window.indexOf(QUOTE); quote >= 0; quote = window.indexOf(QUOTE, quote + 1)) {
      if (!isEscaped(window, quote)) return { end: from + quote, closed: true }
      if (++quotes === PIECE_QUOTES) return { end: from + quote + 1, closed: false }
    }
    if (most === bytes.length) throw new JsonFault('incomplete', most)
    return { end: cutPlace(bytes, from, most), closed: false }
  }

  private decode(start: number, end: number): string {
    try {
      return JSON.parse(`"${this.bytes.toString('utf8', start, end)}"`) as string
    } catch {
      throw new JsonFault('invalid', start)
    }
  }

  private skipSpace(): number {
    const { bytes } = this
    const most = Math.min(bytes.length, this.at + BLANKS_MAX)
    let at = this.at
    while (at < most) {
      const c = bytes[at]
      if (c !== SPACE && c !== 10 && c !== 13 && c !== 9) break
      at++
    }
    this.at = at
    if (at < most) return bytes[at] as number
    if (at < bytes.length) throw new JsonFault('invalid', at)
    return END
  }
}

/** Whether an odd number of backslashes stands before this place. */
function isEscaped(window: Buffer, place: number): boolean {
  let at = place
  while (at > 0 && window[at - 1] === BACKSLASH) at--
  return (place - at) % 2 === 1
}

/** The last place up to `most` where a string can be cut: neither within a character nor within an escape. */
function cutPlace(bytes: Buffer, from: number, most: number): number {
  let cut = most
  while (((bytes[cut] as number) & 0xc0) === 0x80) cut--
  const window = bytes.subarray(from, cut)
  for (let at = window.length - 1; at >= window.length - UNICODE_ESCAPE_BYTES; at--) {
    if (window[at] !== BACKSLASH || isEscaped(window, at)) continue
    const escapeBytes = window[at + 1] === LOWER_U ? UNICODE_ESCAPE_BYTES : ESCAPE_BYTES
    return at + escapeBytes > window.length ? from + at : cut
  }
  return cut
}

function isScalarByte(c: number): boolean {
  return (c >= ZERO && c <= NINE) || (c >= 97 && c <= 122) || c === 45 || c === 46 || c === 43 || c === 69
}
