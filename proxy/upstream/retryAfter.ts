import type { UpstreamHeaders } from './transport/transport.ts'

const SECONDS = /^[0-9]+(?:\.[0-9]+)?$/
const ZERO = /^0(?:\.0+)?$/
const SPAN = /^(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+(?:\.[0-9]+)?)s)?(?:([0-9]+(?:\.[0-9]+)?)ms)?$/
/** Numbers from here on are seconds, and milliseconds, since 1970. */
const EPOCH_SECONDS_MIN = 1e9
const EPOCH_MS_MIN = 1e12
/**
 * Headers with the rest of a limit, and when all of it is back. OpenAI and Groq send spans such as 6m0s, Anthropic dates,
 * Cerebras seconds, OpenRouter milliseconds since 1970.
 */
const RESETS: readonly (readonly [left: string, reset: string])[] = [
  ...['-requests', '-tokens', '-requests-day', '-tokens-minute', ''].map(
    (limit) => [`x-ratelimit-remaining${limit}`, `x-ratelimit-reset${limit}`] as const,
  ),
  ...['requests', 'tokens', 'input-tokens', 'output-tokens'].map(
    (limit) => [`anthropic-ratelimit-${limit}-remaining`, `anthropic-ratelimit-${limit}-reset`] as const,
  ),
]

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

/**
 * How long a provider's limits last of which nothing is left: the longest, for answers that refuse a request by its rate and
 * say nothing of their own about the time.
 * @returns milliseconds between 0 and `maxMs`; 0 when nothing usable was sent
 */
export function resetWaitMs(headers: UpstreamHeaders, nowMs: number, maxMs: number): number {
  const waits = RESETS.map(([left, reset]) =>
    ZERO.test(headers.get(left) ?? '') ? waitOf(headers.get(reset), nowMs) : 0,
  )
  return bounded(Math.max(...waits), maxMs)
}

function waitOf(reset: string | undefined, nowMs: number): number {
  const value = reset?.trim()
  if (value === undefined || value === '') return 0
  if (SECONDS.test(value)) return waitOfNumber(Number(value), nowMs)
  const span = SPAN.exec(value)
  if (span === null) return Math.max(0, Date.parse(value) - nowMs || 0)
  const [hours = 0, minutes = 0, seconds = 0, ms = 0] = span.slice(1).map((part) => Number(part ?? 0))
  return ((hours * 60 + minutes) * 60 + seconds) * 1000 + ms
}

function waitOfNumber(number: number, nowMs: number): number {
  if (number >= EPOCH_MS_MIN) return number - nowMs
  return number >= EPOCH_SECONDS_MIN ? number * 1000 - nowMs : number * 1000
}

function bounded(ms: number, maxMs: number): number {
  return Math.min(maxMs, Math.max(0, Math.ceil(ms)))
}
