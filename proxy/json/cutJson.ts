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
 * JSON bytes with their long strings, or whole values, cut out. The rest is parsed, changed and printed at little cost; what
 * was cut out is put back as its original bytes, without ever becoming text.
 */
export class CutJson {
  private readonly bytes: Buffer
  private readonly spans: readonly Span[]
  /** Around each mark, so that it is a string like what was cut out, or in place of it. */
  private readonly quote: '' | '"'

  /**
   * @param spans the insides of the strings to cut out, or the values, in their order; names of members must not be among
   *   them
   */
  constructor(bytes: Buffer, spans: readonly Span[], kind: 'strings' | 'values' = 'strings') {
    this.bytes = bytes
    this.spans = spans
    this.quote = kind === 'strings' ? '' : '"'
  }

  /** The JSON with a mark in place of each string or value. */
  text(): string {
    const { quote } = this
    let text = ''
    let from = 0
    for (const [i, { start, end }] of this.spans.entries()) {
      text += `${this.bytes.toString('utf8', from, start)}${quote}${MARK}${i}${MARK_END}${quote}`
      from = end
    }
    return text + this.bytes.toString('utf8', from)
  }

  /** The bytes of JSON that was made of the text, with what was cut out in the places of the marks. */
  fill(json: string): Buffer[] {
    const pieces: Buffer[] = []
    let from = 0
    for (let at = json.indexOf(MARK); at >= 0; at = json.indexOf(MARK, from)) {
      const end = json.indexOf(MARK_END, at)
      const { start, end: spanEnd } = this.spans[Number(json.slice(at + MARK.length, end))] as Span
      pieces.push(Buffer.from(json.slice(from, at - this.quote.length)), this.bytes.subarray(start, spanEnd))
      from = end + MARK_END.length + this.quote.length
    }
    pieces.push(Buffer.from(json.slice(from)))
    return pieces
  }
}
