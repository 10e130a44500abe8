import type { UpstreamHeaders } from '../transport.ts'

/** How the body of an answer is delimited. */
export type Framing = 'none' | 'length' | 'chunked' | 'close'

/** A status line and the headers behind it. Other headers than those that frame the body are looked up on demand. */
export interface ResponseHead extends UpstreamHeaders {
  readonly status: number
  readonly framing: Framing
  /** Body bytes, when the framing is `length`. */
  readonly contentLength: number
  /** The connection can carry another request when the body has ended. */
  readonly keepAlive: boolean
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: [^\r\n]*)?$/
const FIELD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/
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
  const lines = text.split('\r\n')
  const statusLine = STATUS_LINE.exec(lines[0])
  if (statusLine === null) return null
  const framers: Framers = { contentLength: '', transferEncoding: '', connection: '' }
  for (let i = 1; i < lines.length; i++) if (!readHeader(lines[i], framers)) return null

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
    get: (name) => lookUp(lines, name),
  }
}

/** Whether a line is a header or trailer field: a token, a colon, and no control characters. */
export function isField(line: string): boolean {
  return FIELD.test(line)
}

// Only names as long as those that frame the body are looked at closely.
function readHeader(line: string, framers: Framers): boolean {
  if (!isField(line)) return false
  const colon = line.indexOf(':')
  if (colon === 10 && named(line, 'connection')) framers.connection += `${fieldValue(line, colon)},`
  if (colon === 17 && named(line, 'transfer-encoding')) framers.transferEncoding += `${fieldValue(line, colon)},`
  return colon === 14 && named(line, 'content-length') ? setLength(framers, fieldValue(line, colon)) : true
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

function lookUp(lines: readonly string[], name: string): string | undefined {
  for (let i = 1; i < lines.length; i++) {
    if (lines[i].charCodeAt(name.length) === 58 && named(lines[i], name)) return fieldValue(lines[i], name.length)
  }
  return undefined
}

function named(line: string, lowerCaseName: string): boolean {
  return line.slice(0, lowerCaseName.length).toLowerCase() === lowerCaseName
}

function fieldValue(line: string, colon: number): string {
  return line.slice(colon + 1).trim()
}
