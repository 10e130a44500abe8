import { randomBytes } from 'node:crypto'
import type { Span } from '../../contract/std/span.ts'

const MARK_BYTES = 16
// It is secret, so that no text from outside can be mistaken for a mark.
const MARK = `@@${randomBytes(MARK_BYTES).toString('hex')}:`
const MARK_END = ';'

/** Whether a string is the mark of one that was cut out. */
export function isMark(text: string): boolean {
  return text.startsWith(MARK)
}

/**
 * JSON bytes with their long strings cut out. The rest is parsed, changed and printed at little cost; the strings are put
 * back as their original bytes, without ever becoming text.
 */
export class CutJson {
  private readonly bytes: Buffer
  private readonly strings: readonly Span[]

  /** @param strings the insides of the strings to cut out, in their order; names of members must not be among them */
  constructor(bytes: Buffer, strings: readonly Span[]) {
    this.bytes = bytes
    this.strings = strings
  }

  /** The JSON, each of the long strings a mark. */
  text(): string {
    let text = ''
    let from = 0
    for (const [i, { start, end }] of this.strings.entries()) {
      text += `${this.bytes.toString('utf8', from, start)}${MARK}${i}${MARK_END}`
      from = end
    }
    return text + this.bytes.toString('utf8', from)
  }

  /** The bytes of JSON that was made of the text, with the strings in the places of their marks. */
  fill(json: string): Buffer[] {
    const pieces: Buffer[] = []
    let from = 0
    for (let at = json.indexOf(MARK); at >= 0; at = json.indexOf(MARK, from)) {
      const end = json.indexOf(MARK_END, at)
      const { start, end: stringEnd } = this.strings[Number(json.slice(at + MARK.length, end))] as Span
      pieces.push(Buffer.from(json.slice(from, at)), this.bytes.subarray(start, stringEnd))
      from = end + MARK_END.length
    }
    pieces.push(Buffer.from(json.slice(from)))
    return pieces
  }
}
