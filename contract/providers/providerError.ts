import { STATUS_CODES } from 'node:http'
import { isJsonObject, type JsonObject } from '../std/jsonObject.ts'
import { readJsonPrefix } from '../std/jsonPrefix.ts'
import { statedNumber } from '../std/statedNumber.ts'

/** A provider's error as its answer states it. */
export interface ProviderError {
  readonly message: string
  readonly code: string
  /** Its code, type, status and reasons, in lower case; absent where they are not separate from the code. */
  readonly names?: readonly string[]
  /** How long the body asks for no requests, in milliseconds; absent where it does not. */
  readonly retryAfterMs?: number
  /** The body is HTML; absent is not. */
  readonly isPage?: boolean
}

const NOTHING: ProviderError = { message: '', code: '' }
/** Errors are flat; what they echo of a request need not be. */
const DEPTH_MAX = 8
const WAIT = /\b(?:try again|retry) in ([0-9]{1,6}(?:\.[0-9]{1,9})?)(ms|s)\b/i
/** Plain text; no JSON, no HTML. */
const SENTENCE = /^[\p{L}\p{N}]+[ :]/u
const PAGE = /^<(?:!doctype|html|head|body|\?xml)\b/i
/** A word, as some servers have in the place of a sentence, or the phrase of a status. */
const IS_NAME = /^\w+$/
const STATUS_PHRASES: ReadonlySet<string | undefined> = new Set(Object.values(STATUS_CODES))
const TEXT_CHARACTERS_MAX = 300
const SECONDS = /^([0-9]{1,6}(?:\.[0-9]{1,9})?)s$/

/** The statuses that types of error events correspond to; events of other types are faults of the provider. */
const STATUS_OF_TYPE: ReadonlyMap<unknown, number> = new Map([
  ['invalid_request_error', 400],
  ['BadRequestError', 400],
  ['bad_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['timeout_error', 504],
  ['overloaded_error', 529],
])

/** Members of an error that may hold the status which the answer should have had. */
const STATUSES = ['code', 'status', 'status_code', 'statusCode', 'http_code']

/**
 * Reads the error bodies that providers send: {error: {...}} of both dialects, alone or in an array, {error: "..."},
 * {message}, {detail}, {errors: [...]}, the older {object: "error"}, and plain text. Anything else, HTML above all, reads as no message.
 * @param body may be cut off anywhere
 */
export function readProviderError(body: string): ProviderError {
  const start = body.trimStart().slice(0, TEXT_CHARACTERS_MAX)
  if (SENTENCE.test(start)) return { message: start, code: '', names: [] }
  if (PAGE.test(start)) return { ...NOTHING, isPage: true }
  return providerErrorOf(readJsonPrefix(body, DEPTH_MAX))
}

/** The error of a provider behind a gateway that quotes it, as OpenRouter does, as text or parsed. */
function rawError(raw: unknown): ProviderError {
  return typeof raw === 'string' ? readProviderError(raw) : providerErrorOf(raw)
}

/** Whether an error is about an account, which is that of the gateway that quotes it. */
function isOfAccount({ message, names = [] }: ProviderError): boolean {
  return /quota|billing|credit|balance|account|api.?key/i.test([message, ...names].join(' '))
}

/** The same for a body, or a part of one, that is parsed already. */
export function providerErrorOf(value: unknown): ProviderError {
  if (Array.isArray(value)) return providerErrorOf(value[0])
  if (typeof value === 'string') return { message: value, code: '', names: namesOf({}, [value]) }
  if (!isJsonObject(value)) return NOTHING
  const error = value['error'] ?? firstOf(value['errors']) ?? value
  if (Array.isArray(error)) return providerErrorOf(error[0])
  // Web frameworks have the name of the status there, and the sentence in `message`.
  if (typeof error === 'string') {
    const sentence = IS_NAME.test(error) || STATUS_PHRASES.has(error) ? messageIn(value) : ''
    return { message: sentence || error, code: '', names: namesOf(value, [error]) }
  }
  if (!isJsonObject(error)) return NOTHING
  const message = messageIn(error)
  if (message === '' && isJsonObject(error['error'])) return providerErrorOf(error)
  const inner = isJsonObject(error['metadata']) ? rawError(error['metadata']['raw']) : NOTHING
  if (inner.message !== '' && !isOfAccount(inner)) return inner
  const details = Array.isArray(error['details']) ? error['details'].filter(isJsonObject) : []
  const retryAfterMs = details.map(({ retryDelay }) => delayMs(retryDelay)).find((ms) => ms > 0) ?? waitIn(message)
  return {
    message,
    code: text(error['code']),
    names: namesOf(
      error,
      details.map(({ reason }) => reason),
    ),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

/** AWS writes the name of the member with a capital. */
function messageIn({ message, Message: ofAws, detail, msg, error_msg: ofQianfan }: JsonObject): string {
  return detailText(message) || detailText(detail) || text(msg) || text(ofAws) || text(ofQianfan)
}

function namesOf({ code, type, status, reason }: JsonObject, more: readonly unknown[]): string[] {
  return [code, type, status, reason, ...more].map((name) => text(name).toLowerCase()).filter((name) => name !== '')
}

function delayMs(delay: unknown): number {
  const seconds = typeof delay === 'string' ? SECONDS.exec(delay)?.[1] : undefined
  return seconds === undefined ? 0 : Math.ceil(Number(seconds) * 1000)
}

/** Milliseconds that a sentence asks to wait; undefined where it does not. */
function waitIn(message: string): number | undefined {
  const [, count, unit] = WAIT.exec(message) ?? []
  return count === undefined ? undefined : Math.ceil(Number(count) * (unit === 's' ? 1000 : 1))
}

function firstOf(errors: unknown): unknown {
  return Array.isArray(errors) ? errors[0] : undefined
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function detailText(detail: unknown): string {
  if (typeof detail === 'string') return detail
  if (Array.isArray(detail)) return detail.map(detailText).join('; ')
  if (!isJsonObject(detail)) return ''
  return text(detail['message']) || text(detail['msg']) || text(detail['error']) || detailText(detail['detail'])
}

/** The status that an answer should have had, of an error that came with status 200; 502 where it says nothing of it. */
export function statusOfError(error: unknown): number {
  const { type, ...members } = isJsonObject(error) ? error : {}
  const stated = STATUSES.map((name) => statedNumber(members[name])).find((status) => status >= 400 && status < 600)
  return stated ?? STATUS_OF_TYPE.get(type) ?? 502
}
