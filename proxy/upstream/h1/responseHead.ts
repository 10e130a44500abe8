import type { UpstreamHeaders } from '../transport/transport.ts'

/** How the body of an answer is delimited. */
export type Framing = 'none' | 'length' | 'chunked' | 'close'

/** A status line and the headers after it. Headers that do not frame the body are looked up on demand. */
export interface ResponseHead extends UpstreamHeaders {
  readonly status: number
  readonly framing: Framing
  /** Body bytes, when the framing is `length`. */
  readonly contentLength: number
  /** The connection can carry another request when the body has ended. */
  readonly keepAlive: boolean
}

const CRLF = '\r\n'
const COLON = 58
const FIELD_LINE = "[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\\t\\x20-\\x7e\\x80-\\xff]*"
const FIELD = new RegExp(`^${FIELD_LINE}$`)
const HEAD = new RegExp(`^HTTP/1\\.([01]) ([1-9][0-9]{2})(?: [^\\r\\n]*)?(?:\\r\\n${FIELD_LINE})*$`)
const LENGTH = /^[0-9]{1,15}$/

interface Framers {
  contentLength: string
  transferEncoding: string
  connection: string
}

/**
 * Parses the head of an answer (RFC 9112). Strict where leniency would let an answer be read in two ways.
 * @param text everything up to the empty line, without the last CRLFCRLF
 * @returns null when the head is malformed
 */
export function parseResponseHead(text: string): ResponseHead | null {
  const statusLine = HEAD.exec(text)
  if (statusLine === null) return null
  const framers: Framers = { contentLength: '', transferEncoding: '', connection: '' }
  for (let end = text.indexOf(CRLF); end >= 0; end = text.indexOf(CRLF, end + 2)) {
    if (!readFramer(text, end + 2, framers)) return null
  }

  const status = Number(statusLine[2])
  // HTTP/1.0 has no interim answers.
  if (status < 200 && statusLine[1] === '0') return null
  const framing = framingOf(status, framers)
  if (framing === null) return null
  const connection = framers.connection.toLowerCase()
  const persistent = statusLine[1] === '1' ? !connection.includes('close') : connection.includes('keep-alive')
  return {
    status,
    framing,
    contentLength: framing === 'length' ? Number(framers.contentLength) : 0,
    keepAlive: persistent && framing !== 'close',
    get: (name) => lookUp(text, name),
  }
}

/** Whether a line is a header or trailer field: a token, a colon, and no control characters. */
export function isField(line: string): boolean {
  return FIELD.test(line)
}

// Only names with the length of a framing header are compared.
function readFramer(text: string, at: number, framers: Framers): boolean {
  if (named(text, at, 'connection')) framers.connection += `${fieldValue(text, at + 10)},`
  if (named(text, at, 'transfer-encoding')) framers.transferEncoding += `${fieldValue(text, at + 17)},`
  return named(text, at, 'content-length') ? setLength(framers, fieldValue(text, at + 14)) : true
}

function setLength(framers: Framers, value: string): boolean {
  if (!LENGTH.test(value) || (framers.contentLength !== '' && framers.contentLength !== value)) return false
  framers.contentLength = value
  return true
}

function framingOf(status: number, framers: Framers): Framing | null {
  const { contentLength, transferEncoding } = framers
  if (transferEncoding !== '') {
    if (contentLength !== '' || transferEncoding.toLowerCase() !== 'chunked,') return null
    return 'chunked'
  }
  if (status < 200 || status === 204 || status === 304) return 'none'
  if (contentLength === '') return 'close'
  return Number(contentLength) === 0 ? 'none' : 'length'
}

function lookUp(text: string, name: string): string | undefined {
  for (let end = text.indexOf(CRLF); end >= 0; end = text.indexOf(CRLF, end + 2)) {
    if (named(text, end + 2, name)) return fieldValue(text, end + 2 + name.length)
  }
  return undefined
}

/** Whether the field that begins at `at` has this name. */
function named(text: string, at: number, lowerCaseName: string): boolean {
  const colon = at + lowerCaseName.length
  return text.charCodeAt(colon) === COLON && text.slice(at, colon).toLowerCase() === lowerCaseName
}

function fieldValue(text: string, colon: number): string {
  const end = text.indexOf(CRLF, colon)
  return text.slice(colon + 1, end < 0 ? text.length : end).trim()
}
