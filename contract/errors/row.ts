/** The classes of errors, by the contract's table of statuses. */
export const ERROR_TYPES = [
  'approval_required',
  'authentication_error',
  'insufficient_balance',
  'insufficient_quota',
  'invalid_request_error',
  'payment_required',
  'permission_error',
  'rate_limit_error',
  'server_error',
  'service_unavailable',
  'upstream_error',
] as const

export type ErrorType = (typeof ERROR_TYPES)[number]

/**
 * The charge of a request that ended with this error: nothing, the produced part of a stream, the amount that a tool's
 * upstream billed, or the earlier charge of the request that made the result.
 */
export type Charged = false | 'partial' | 'billed' | 'earlier'

export interface ErrorRow {
  /** HTTP statuses this code may have; the first is the default. */
  readonly statuses: readonly number[]
  /** Whether a provider's own 4xx status may replace `statuses`. */
  readonly anyClientStatus: boolean
  readonly type: ErrorType
  readonly message: string
  readonly charged: Charged
  /** Whether the same request may be sent again; drives the x-should-retry header. */
  readonly retryable: boolean
  /** The code as clients see it; null for plain validation errors. Absent: the name of the row. */
  readonly publicCode?: null
}

const TYPES: Readonly<Record<number, ErrorType>> = {
  202: 'approval_required',
  401: 'authentication_error',
  402: 'payment_required',
  403: 'permission_error',
  429: 'rate_limit_error',
  500: 'server_error',
  502: 'upstream_error',
  503: 'service_unavailable',
  504: 'upstream_error',
}

// 408 and 5xx are here because nothing was charged; the rows of calls that may have been paid for say otherwise.
const RETRYABLE = new Set([408, 429, 500, 502, 503, 504])

/** The usual class of an error with this status. */
export function typeOfStatus(status: number): ErrorType {
  return TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
}

/**
 * A row of the error table; fields that follow from the status have their defaults.
 * @param status the status, or all allowed ones with the default first
 * @param message says what to change, in a sentence
 */
export function row(status: number | readonly number[], message: string, changes: Partial<ErrorRow> = {}): ErrorRow {
  const statuses = typeof status === 'number' ? [status] : status
  const [first = 500] = statuses
  return {
    statuses,
    anyClientStatus: false,
    type: typeOfStatus(first),
    message,
    charged: false,
    retryable: RETRYABLE.has(first),
    ...changes,
  }
}
