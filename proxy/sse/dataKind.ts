const LF = 10
const QUOTE = 34
const OPEN_BRACE = 123
/** The end of a stream, in whatever quotes, case or blanks; a longer text is something else. */
const END = /^["'\s]*\[\s*done\s*\]["'\s]*$/i
const END_BYTES_MAX = 64
const DONE = Buffer.from('[DONE]')

/** The kind of the data of an event of the OpenAI dialect. */
export type DataKind =
  /** By its first byte; whether it can be read is not known. */
  | 'object'
  /** The end of the stream. */
  | 'end'
  /** JSON that says nothing, such as null, a number or a text; or blanks. */
  | 'nothing'
  /** Anything else. */
  | 'other'

/** The kind of the bytes [start, end), the data of one event; objects, which most are, are known by their first byte. */
export function dataKind(bytes: Buffer, start: number, end: number): DataKind {
  if (bytes[start] === OPEN_BRACE) return 'object'
  if (end - start === DONE.length && bytes.compare(DONE, 0, DONE.length, start, end) === 0) return 'end'
  const text = bytes.toString('utf8', start, end)
  if (end - start <= END_BYTES_MAX && END.test(text)) return 'end'
  const trimmed = text.trim()
  if (trimmed === '') return 'nothing'
  return trimmed.startsWith('{') ? 'object' : isScalar(trimmed) ? 'nothing' : 'other'
}

/**
 * Providers may leave out the blank line between two events, so that the lines of data look like one event.
 * @returns where each line is, if each is its own event; null for data that is spread over its lines
 */
export function separateLines(bytes: Buffer, start: number, end: number): [start: number, end: number][] | null {
  const lines: [number, number][] = []
  for (let at = start; at <= end; ) {
    const found = bytes.indexOf(LF, at)
    const lineEnd = found < 0 || found > end ? end : found
    const kind = dataKind(bytes, at, lineEnd)
    if (kind === 'other' || (kind === 'object' && !isJson(bytes.toString('utf8', at, lineEnd)))) return null
    lines.push([at, lineEnd])
    at = lineEnd + 1
  }
  return lines
}

/** The places of the events that data of so many lines has: that of all of it, but where separateLines finds several. */
export function dataParts(bytes: Buffer, start: number, end: number, lines: number): [start: number, end: number][] {
  return (lines > 1 ? separateLines(bytes, start, end) : null) ?? [[start, end]]
}

function isScalar(text: string): boolean {
  const isText = text.charCodeAt(0) === QUOTE
  return (isText || /^[\w.+-]+$/.test(text)) && isJson(text)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
