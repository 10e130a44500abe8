import { STATUS_CODES } from 'node:http'
import type { GatewayError } from '../../contract/errors/errors.ts'
import type { HeaderList } from './exchange.ts'

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

/** Headers as lines behind another one. */
export function fieldsOf(headers: HeaderList): string {
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
