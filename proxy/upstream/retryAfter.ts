import type { UpstreamHeaders } from './transport/transport.ts'

const SECONDS = /^[0-9]+(?:\.[0-9]+)?$/

/**
 * How long a provider asks for no requests: `retry-after-ms`, or `retry-after` as seconds (whole or not) or as an HTTP date
 * (RFC 9110 section 10.2.3).
 * @returns milliseconds between 0 and `maxMs`; 0 when nothing usable was sent
 */
export function retryAfterMs(headers: UpstreamHeaders | undefined, nowMs: number, maxMs: number): number {
  const precise = headers?.get('retry-after-ms')
  if (precise !== undefined && SECONDS.test(precise)) return bounded(Number(precise), maxMs)
  const value = headers?.get('retry-after')?.trim()
  if (value === undefined || value === '') return 0
  if (SECONDS.test(value)) return bounded(Number(value) * 1000, maxMs)
  const dateMs = Date.parse(value)
  return Number.isNaN(dateMs) ? 0 : bounded(dateMs - nowMs, maxMs)
}

function bounded(ms: number, maxMs: number): number {
  return Math.min(maxMs, Math.max(0, Math.ceil(ms)))
}
