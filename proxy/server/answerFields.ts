import { STATUS_CODES } from 'node:http'
import type { GatewayError } from '../../contract/errors/errors.ts'
import { type Exchange, type HeaderList, KEEP_ALIVE_SECONDS } from './exchange.ts'

const KEEP_ALIVE = `\r\nkeep-alive: timeout=${KEEP_ALIVE_SECONDS}`
/** For pages of any origin. Requests of browsers have no cookies here, so that the asterisk stands for every header of the answer. */
const OF_BROWSERS = '\r\naccess-control-allow-origin: *\r\naccess-control-expose-headers: *'
const DEFAULT_RETRY_SECONDS = 1
const statusLines = new Map<number, string>()

/** The status of an answer with its words. */
export function statusLine(status: number): string {
  let line = statusLines.get(status)
  if (line === undefined) {
    line = `${status} ${STATUS_CODES[status] ?? ''}`
    statusLines.set(status, line)
  }
  return line
}

/**
 * The content type of an answer with all its other headers as lines after it. The server package writes a value without checking
 * it. All fields as one value make one call into native code, which costs more than the bytes it writes; every name and value
 * here is the gateway's own.
 */
export function headValue(
  contentType: string,
  { id, head, limitHeaders }: Exchange,
  headers: HeaderList | undefined,
  isLast: boolean,
): string {
  let fields = `${contentType}\r\nx-request-id: ${id}\r\nrequest-id: ${id}${isLast ? '' : KEEP_ALIVE}`
  if (head.origin !== '') fields += OF_BROWSERS
  if (headers !== undefined) fields += fieldsOf(headers)
  if (limitHeaders !== undefined) fields += fieldsOf(limitHeaders)
  return fields
}

/** The content type of the last answer of a connection that the client is to close. */
export function closingType(contentType: string): string {
  return `${contentType}\r\nconnection: close`
}

/**
 * The content type of an answer without its body, with the body's length as a field of the gateway's own: the server package waits
 * for the body whose length it states itself, and serves no other request before.
 * @param length zero for an answer whose body has not been made
 */
export function bodilessType(contentType: string, length: number): string {
  return length === 0 ? contentType : `${contentType}\r\ncontent-length: ${length}`
}

function fieldsOf(headers: HeaderList): string {
  let fields = ''
  for (let i = 0; i + 1 < headers.length; i += 2) fields += `\r\n${headers[i]}: ${headers[i + 1]}`
  return fields
}

/** The headers of an error, and more. */
export function errorHeaders(error: GatewayError, extra?: HeaderList): HeaderList {
  const headers = ['x-should-retry', error.retryable ? 'true' : 'false']
  const mayRetry = error.status === 429 || error.status === 503
  const seconds = error.retryAfterSeconds ?? (mayRetry ? DEFAULT_RETRY_SECONDS : undefined)
  if (seconds !== undefined) headers.push('retry-after', String(seconds))
  return extra === undefined ? headers : headers.concat(extra)
}
