import { classifyRefusal, type ProviderError, type Refusal } from './refusal.ts'

const NOTHING: ProviderError = { message: '', code: '' }
const CONTEXT =
  /maximum context length|context_length_exceeded|context window|prompt is too long|too many tokens|exceeds? (?:the available )?context/i

/** An empty account at the provider, which some of them answer with 400 as if the request were at fault. */
const CREDIT = /credit balance is too low/i

/** The statuses that types of error events correspond to; events of other types are faults of the provider. */
const STATUS_OF_TYPE: ReadonlyMap<unknown, number> = new Map([
  ['invalid_request_error', 400],
  ['BadRequestError', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['timeout_error', 504],
  ['overloaded_error', 529],
])

/**
 * Reads the error bodies that providers send: {error: {...}} of both dialects, {error: "..."}, {message}, {detail} and
 * the older {object: "error"}. Anything else, HTML above all, reads as no message.
 */
export function readProviderError(body: string): ProviderError {
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    return NOTHING
  }
  return providerErrorOf(parsed)
}

/**
 * The meaning of an error inside an answer of status 200: an error event of a stream, or an error for a body.
 * @param error the value of the member `error`, or null for an answer that cannot be read at all
 */
export function refusalOfError(error: unknown): Refusal {
  const provider = providerErrorOf(error)
  const stated: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined
  const type: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'type') : undefined
  const usual = STATUS_OF_TYPE.get(type) ?? 502
  return classifyRefusal(typeof stated === 'number' && stated >= 400 && stated < 600 ? stated : usual, provider, 0)
}

/** The same for a body, or a part of one, that is parsed already. */
export function providerErrorOf(value: unknown): ProviderError {
  if (typeof value !== 'object' || value === null) return NOTHING
  const error: unknown = Reflect.get(value, 'error') ?? value
  if (typeof error === 'string') return named(error, '')
  if (typeof error !== 'object' || error === null) return NOTHING
  const message = text(Reflect.get(error, 'message')) || detailText(Reflect.get(error, 'detail'))
  return named(message, text(Reflect.get(error, 'code')))
}

// Not every provider sets the code for a prompt that is too long, but all of them describe it in the message.
function named(message: string, code: string): ProviderError {
  if (CREDIT.test(message)) return { message: '', code: 'insufficient_credit' }
  return { message, code: CONTEXT.test(code) || CONTEXT.test(message) ? 'context_length_exceeded' : code }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function detailText(detail: unknown): string {
  if (typeof detail === 'string') return detail
  if (!Array.isArray(detail)) return ''
  return detail
    .map((item: unknown) => (typeof item === 'object' && item !== null ? text(Reflect.get(item, 'msg')) : ''))
    .join('; ')
}
