import { stringEnd } from '../../contract/std/jsonDepth.ts'
import type { Span } from '../../contract/std/span.ts'

const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_ARRAY = 91
const CLOSE_ARRAY = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125
const SCALAR = /^(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)$/
const SCALAR_BYTES_MAX = 512

/**
 * The members of a JSON object, without parsing their values. Brackets and strings are checked all the way down, numbers and
 * words only where they are members themselves; a large value can then be forwarded as its original bytes.
 * @param at defaults to all of `bytes`
 * @param max number of members; an object with more is not read
 * @returns null when the value is not an object, is not closed properly or nests deeper than `depthMax`
 */
export function objectSpans(
  bytes: Buffer,
  depthMax: number,
  at: Span = whole(bytes),
  max = Number.POSITIVE_INFINITY,
): Map<string, Span> | null {
  const members = new Map<string, Span>()
  let place = skipSpace(bytes, at.start)
  if (bytes[place] !== OPEN_OBJECT) return null
  place = skipSpace(bytes, place + 1)
  if (bytes[place] === CLOSE_OBJECT) return endsAt(bytes, place + 1, at.end) ? members : null
  for (;;) {
    const name = readName(bytes, place)
    if (name === null) return null
    place = skipSpace(bytes, name.end)
    if (bytes[place] !== COLON) return null
    const start = skipSpace(bytes, place + 1)
    const end = valueEnd(bytes, start, at.end, depthMax - 1)
    if (end < 0) return null
    members.set(name.text, { start, end })
    if (members.size > max) return null
    place = skipSpace(bytes, end)
    if (bytes[place] === CLOSE_OBJECT) return endsAt(bytes, place + 1, at.end) ? members : null
    if (bytes[place] !== COMMA) return null
    place = skipSpace(bytes, place + 1)
  }
}

/**
 * The elements of a JSON array, as `objectSpans` finds members.
 * @param max number of elements to find; later ones are not scanned
 */
export function arraySpans(
  bytes: Buffer,
  depthMax: number,
  at: Span = whole(bytes),
  max = Number.POSITIVE_INFINITY,
): Span[] | null {
  const elements: Span[] = []
  let place = skipSpace(bytes, at.start)
  if (bytes[place] !== OPEN_ARRAY) return null
  place = skipSpace(bytes, place + 1)
  if (bytes[place] === CLOSE_ARRAY) return endsAt(bytes, place + 1, at.end) ? elements : null
  for (;;) {
    const end = valueEnd(bytes, place, at.end, depthMax - 1)
    if (end < 0) return null
    elements.push({ start: place, end })
    if (elements.length >= max) return elements
    place = skipSpace(bytes, end)
    if (bytes[place] === CLOSE_ARRAY) return endsAt(bytes, place + 1, at.end) ? elements : null
    if (bytes[place] !== COMMA) return null
    place = skipSpace(bytes, place + 1)
  }
}

/** The bytes of a span. */
export function spanBytes(bytes: Buffer, { start, end }: Span): Buffer {
  return bytes.subarray(start, end)
}

/** Whether a value is a text that is not empty. */
export function isSomeText(bytes: Buffer, span: Span | undefined): boolean {
  return span !== undefined && bytes[span.start] === QUOTE && bytes[span.start + 1] !== QUOTE
}

/** The value of a span, or undefined when it is absent or not JSON. For small values only: it is parsed. */
export function spanValue(bytes: Buffer, span: Span | undefined): unknown {
  if (span === undefined) return undefined
  try {
    return JSON.parse(bytes.toString('utf8', span.start, span.end))
  } catch {
    return undefined
  }
}

function whole(bytes: Buffer): Span {
  return { start: 0, end: bytes.length }
}

function endsAt(bytes: Buffer, place: number, end: number): boolean {
  return skipSpace(bytes, place) >= end
}

/** The place of the first byte from a place on that is no white space. */
export function skipSpace(bytes: Buffer, from: number): number {
  let place = from
  for (;;) {
    const c = bytes[place]
    if (c !== 32 && c !== 10 && c !== 13 && c !== 9) return place
    place++
  }
}

function readName(bytes: Buffer, place: number): { text: string; end: number } | null {
  if (bytes[place] !== QUOTE) return null
  const quote = stringEnd(bytes, place + 1)
  if (quote < 0) return null
  const text = spanValue(bytes, { start: place, end: quote + 1 })
  return typeof text === 'string' ? { text, end: quote + 1 } : null
}

/** The position after the value that begins at `start`, or -1. */
function valueEnd(bytes: Buffer, start: number, limit: number, depthMax: number): number {
  const first = bytes[start]
  let end = -1
  if (first === QUOTE) end = stringEnd(bytes, start + 1) + 1 || -1
  else if (first === OPEN_ARRAY || first === OPEN_OBJECT) end = nestedEnd(bytes, start, limit, depthMax)
  else end = scalarEnd(bytes, start, limit)
  return end > limit ? -1 : end
}

function scalarEnd(bytes: Buffer, start: number, limit: number): number {
  let end = start
  const most = Math.min(limit, start + SCALAR_BYTES_MAX)
  while (end < most && isScalarByte(bytes[end] as number)) end++
  return SCALAR.test(bytes.toString('latin1', start, end)) ? end : -1
}

function isScalarByte(c: number): boolean {
  return (c >= 48 && c <= 57) || (c >= 97 && c <= 122) || c === 45 || c === 46 || c === 43 || c === 69
}

/** The position after the bracket that closes the one at `start`. */
function nestedEnd(bytes: Buffer, start: number, limit: number, depthMax: number): number {
  const open: number[] = []
  for (let place = start; place < limit; place++) {
    const c = bytes[place]
    if (c === QUOTE) {
      place = stringEnd(bytes, place + 1)
      if (place < 0) return -1
    } else if (c === OPEN_ARRAY || c === OPEN_OBJECT) {
      if (open.push(c + 2) > depthMax) return -1
    } else if (c === CLOSE_ARRAY || c === CLOSE_OBJECT) {
      if (open.pop() !== c) return -1
      if (open.length === 0) return place + 1
    }
  }
  return -1
}
