import { dataStart } from './frameReader.ts'

const BOM = 0xfeff
/** The beginning of an event: a field that the format knows, or a comment. */
const FIELD = /^(?:(?:data|event|id|retry)[ \t]*:|:)/
/** The arrived beginning of one. */
const FIELD_BEGUN = /^(?:d(?:a(?:ta?)?)?|e(?:v(?:e(?:nt?)?)?)?|id?|r(?:e(?:t(?:ry?)?)?)?)[ \t]*$/
/** Blanks before the answer, and the longest name. */
const HEAD_BYTES = 1_024

/** The kind of a body by its beginning, whatever its label says. */
export type BodyKind = 'events' | 'object' | 'other' | 'unknown'

/** Looks at the first bytes of a body; `unknown` while there are too few of them. */
export function bodyKind(bytes: Buffer): BodyKind {
  // Nearly all streams begin so, and need no text to be made of their beginning.
  if (dataStart(bytes, 0, bytes.length) >= 0) return 'events'
  let head = bytes.toString('utf8', 0, HEAD_BYTES)
  if (head.charCodeAt(0) === BOM) head = head.slice(1)
  head = head.trimStart()
  if (FIELD.test(head)) return 'events'
  if (head.startsWith('{')) return 'object'
  const isBegun = head === '' || FIELD_BEGUN.test(head) || (bytes[0] === 0xef && bytes.length < 3)
  return isBegun && bytes.length < HEAD_BYTES ? 'unknown' : 'other'
}

/** Whether a whole body is an event stream. */
export function beginsEvents(bytes: Buffer): boolean {
  return bodyKind(bytes) === 'events'
}
