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

/** Whether a text has a mark in it. */
export function hasMark(text: string): boolean {
  return text.includes(MARK)
}

/** The mark of what was cut off a string, at its end; undefined for a string that is whole. */
export function markAtEnd(text: string): string | undefined {
  if (!text.endsWith(MARK_END)) return undefined
  const at = text.lastIndexOf(MARK)
  return at < 0 ? undefined : text.slice(at)
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
   * @param spans the insides of the strings to cut out, or their ends, or the values, in their order; names of members must not
   *   be among them
   */
  constructor(bytes: Buffer, spans: readonly Span[], kind: 'strings' | 'values' = 'strings') {
    this.bytes = bytes
    this.spans = spans
    this.quote = kind === 'strings' ? '' : '"'
  }

  /** The JSON with a mark in place of each string or value. */
  text(): string {
    return this.rest().toString()
  }

  /** The bytes of that text. */
  rest(): Buffer {
    const { quote } = this
    const pieces: Buffer[] = []
    let from = 0
    for (const span of this.spans) {
      pieces.push(this.bytes.subarray(from, span.start), Buffer.from(`${quote}${markOf(span)}${quote}`))
      from = span.end
    }
    return Buffer.concat([...pieces, this.bytes.subarray(from)])
  }

  /**
   * The bytes of JSON that was made of the text, with what was cut out in the places of the marks; also those of another cut of
   * the same bytes.
   */
  fill(json: string): Buffer[] {
    const pieces: Buffer[] = []
    let from = 0
    for (let at = json.indexOf(MARK); at >= 0; at = json.indexOf(MARK, from)) {
      const end = json.indexOf(MARK_END, at)
      const [start, spanEnd] = json.slice(at + MARK.length, end).split(',')
      const piece = this.bytes.subarray(Number(start), Number(spanEnd))
      pieces.push(Buffer.from(json.slice(from, at - this.quote.length)), piece)
      from = end + MARK_END.length + this.quote.length
    }
    pieces.push(Buffer.from(json.slice(from)))
    return pieces
  }
}

function markOf({ start, end }: Span): string {
  return `${MARK}${start},${end}${MARK_END}`
}
