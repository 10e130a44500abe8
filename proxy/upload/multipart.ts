import { GatewayError } from '../../contract/errors/errors.ts'
import type { UploadLimits } from './limits.ts'

const CRLF = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')
const MEDIA_TYPE = /^\s*multipart\/form-data\s*(?:;|$)/i
const PARAMETER = /;\s*([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;"\s]*))/g
// RFC 2046 section 5.1.1.
const BOUNDARY = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/
const DASH = 45
const SPACE = 32
const TAB = 9
const CR = 13
const NO_NAME = 'a part has no Content-Disposition: form-data with a name'

/** A part of a form; `data` is a view of the body. */
export interface FormPart {
  readonly name: string
  /** Null for a plain field. */
  readonly filename: string | null
  readonly data: Buffer
}

/** Whether a Content-Type is that of a form. */
export function isMultipart(contentType: string): boolean {
  return MEDIA_TYPE.test(contentType)
}

/**
 * Reads a multipart/form-data body (RFC 7578, RFC 2046 section 5.1) that is in memory as a whole. No part is copied.
 * @fastify/busboy is not used because it reads to the end of a body beyond its limits (20 MB of boundaries take 19 s and 3
 * GB), takes the beginning of a longer line for a boundary, and silently skips parts that it cannot parse.
 * @throws GatewayError not_multipart, bad_multipart, body_incomplete when the closing boundary is missing
 */
export function parseMultipart(body: Buffer, contentType: string, limits: UploadLimits): FormPart[] {
  if (!isMultipart(contentType)) throw new GatewayError('not_multipart')
  const boundary = boundaryOf(contentType)
  if (boundary === undefined) throw bad('Content-Type names no boundary of 1 to 70 characters')
  const delimiter = Buffer.from(`--${boundary}`, 'latin1')
  const inner = Buffer.concat([CRLF, delimiter])
  const parts: FormPart[] = []
  let at = firstDelimiter(body, delimiter, inner, limits)
  for (;;) {
    if (isClosing(body, at)) return parts
    const headAt = lineEnd(body, at)
    if (headAt < 0) throw incomplete('right behind a boundary')
    if (parts.length >= limits.formPartsMax) throw bad(`it has more than ${limits.formPartsMax} parts`)
    const end = nextDelimiter(body, inner, headAt - CRLF.length, limits)
    const { dataAt, head } = readHead(body, headAt, end, limits)
    if (end < 0) throw incomplete('before its closing boundary')
    parts.push({ ...head, data: body.subarray(dataAt, Math.max(dataAt, end)) })
    at = end + inner.length
  }
}

function bad(reason: string): GatewayError {
  return new GatewayError('bad_multipart', { message: `The multipart body cannot be read: ${reason}.` })
}

function incomplete(where: string): GatewayError {
  return new GatewayError('body_incomplete', { message: `The body ends ${where}; send all of it.` })
}

function boundaryOf(contentType: string): string | undefined {
  for (const [, name = '', quoted, plain = ''] of contentType.matchAll(PARAMETER)) {
    if (name.toLowerCase() !== 'boundary') continue
    const boundary = quoted === undefined ? plain : unquote(quoted)
    return BOUNDARY.test(boundary) ? boundary : undefined
  }
  return undefined
}

function unquote(quoted: string): string {
  return quoted.replace(/\\(["\\])/g, '$1')
}

/** The position after the first delimiter, which may follow a preamble. */
function firstDelimiter(body: Buffer, delimiter: Buffer, inner: Buffer, limits: UploadLimits): number {
  const starts = body.subarray(0, delimiter.length).equals(delimiter)
  if (starts && isDelimiterEnd(body, delimiter.length)) return delimiter.length
  const found = nextDelimiter(body, inner, 0, limits)
  if (found < 0) throw bad('it does not hold the boundary that Content-Type names')
  return found + inner.length
}

/** The position of the line end before the next delimiter, or -1. Bytes that only begin like the delimiter are content. */
function nextDelimiter(body: Buffer, inner: Buffer, from: number, { formLookalikesMax }: UploadLimits): number {
  let at = body.indexOf(inner, from)
  for (let alike = 0; at >= 0; alike++) {
    if (isDelimiterEnd(body, at + inner.length)) return at
    if (alike >= formLookalikesMax) throw bad('its content is full of what looks like its boundary')
    at = body.indexOf(inner, at + 1)
  }
  return -1
}

function isDelimiterEnd(body: Buffer, at: number): boolean {
  return at >= body.length || isClosing(body, at) || lineEnd(body, at) >= 0 || body.length - at < CRLF.length
}

function isClosing(body: Buffer, at: number): boolean {
  return body[at] === DASH && body[at + 1] === DASH
}

/** The position after the line end that closes a delimiter, with optional blanks before it; -1 when other bytes follow. */
function lineEnd(body: Buffer, at: number): number {
  let place = at
  while (body[place] === SPACE || body[place] === TAB) place++
  return body[place] === CR && body[place + 1] === 10 ? place + CRLF.length : -1
}

interface PartHead {
  readonly name: string
  readonly filename: string | null
}

/** @param partEnd where the part ends, or -1 */
function readHead(body: Buffer, at: number, partEnd: number, limits: UploadLimits): { dataAt: number; head: PartHead } {
  if (body[at] === CR || partEnd === at - CRLF.length) throw bad(NO_NAME)
  const last = partEnd < 0 ? body.length : partEnd + CRLF.length
  const most = at + limits.formHeadBytesMax
  const end = body.subarray(at, Math.min(last, most)).indexOf(HEAD_END)
  if (end < 0) {
    if (last > most) throw bad('the headers of a part are too long')
    throw partEnd < 0
      ? incomplete('within the headers of a part')
      : bad('the headers of a part do not end with an empty line')
  }
  let head: PartHead | undefined
  for (const line of body.toString('utf8', at, at + end).split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon <= 0) throw bad('a part has a header line without a name')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    if (name === 'content-disposition') head = readDisposition(value)
    else if (name === 'content-transfer-encoding' && !/^(?:7bit|8bit|binary)$/i.test(value)) {
      throw bad(`the transfer encoding ${JSON.stringify(value.slice(0, 32))} is not taken; send the bytes as they are`)
    }
  }
  if (head === undefined) throw bad(NO_NAME)
  return { dataAt: at + end + HEAD_END.length, head }
}

function readDisposition(value: string): PartHead | undefined {
  if (!/^form-data\s*(?:;|$)/i.test(value)) return undefined
  let name: string | undefined
  let filename: string | null = null
  for (const [, parameter = '', quoted, plain = ''] of value.matchAll(PARAMETER)) {
    const text = quoted === undefined ? plain : unquote(quoted)
    const key = parameter.toLowerCase()
    if (key === 'name') name = text
    else if (key === 'filename' || key === 'filename*') filename ??= text
  }
  return name === undefined || name === '' ? undefined : { name, filename }
}
