import type { RefusalFigures } from './figures.ts'
import { GATEWAY_ERRORS } from './gateway.ts'
import { PAYMENT_ERRORS } from './payments.ts'
import { REQUEST_ERRORS } from './requests.ts'
import { ERROR_TYPES, type ErrorRow, type ErrorType, typeOfStatus } from './row.ts'
import { VIDEO_ERRORS } from './video.ts'

export type { Charged, ErrorRow, ErrorType } from './row.ts'

const TABLE = { ...GATEWAY_ERRORS, ...REQUEST_ERRORS, ...VIDEO_ERRORS, ...PAYMENT_ERRORS } as const

export type ErrorCode = keyof typeof TABLE

/** Every error that a client can see: its statuses, class, message, cost and whether to send the request again. */
export const ERRORS: Readonly<Record<ErrorCode, ErrorRow>> = TABLE

export interface GatewayErrorOptions {
  /** Replaces the table's message; says what to change. */
  readonly message?: string
  /** The request field at fault. */
  readonly param?: string
  /** One of the row's statuses, or a provider's 4xx where the row allows it; anything else is ignored. */
  readonly status?: number
  readonly type?: ErrorType
  /** Seconds for the Retry-After header. */
  readonly retryAfterSeconds?: number
  /** JSON that replaces the error shape, where the contract requires it. */
  readonly body?: string
  readonly cause?: unknown
  /** For those who ask later why it was refused. */
  readonly figures?: RefusalFigures
}

/** An error that is shown to the client as it is. Everything else that is thrown is shown as internal_error. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  /** The row of the table, also where the public code is null. */
  readonly row: ErrorCode
  /** The code that the client sees. */
  readonly code: string | null
  readonly status: number
  readonly type: ErrorType
  readonly param: string | null
  readonly retryable: boolean
  readonly retryAfterSeconds?: number
  readonly body?: string
  readonly figures?: RefusalFigures

  constructor(code: ErrorCode, options: GatewayErrorOptions = {}) {
    const row = ERRORS[code]
    super(options.message ?? row.message, options.cause === undefined ? undefined : { cause: options.cause })
    const [usual = 500] = row.statuses
    this.row = code
    this.code = row.publicCode === null ? null : code
    this.status = options.status !== undefined && mayHave(row, options.status) ? options.status : usual
    this.type = options.type ?? (this.status === usual ? row.type : typeOfStatus(this.status))
    this.param = options.param ?? null
    this.retryable = row.retryable || this.status === 429 || this.status === 503
    if (options.retryAfterSeconds !== undefined) this.retryAfterSeconds = options.retryAfterSeconds
    if (options.body !== undefined) this.body = options.body
    if (options.figures !== undefined) this.figures = options.figures
  }
}

function mayHave(row: ErrorRow, status: number): boolean {
  return row.statuses.includes(status) || (row.anyClientStatus && status >= 400 && status < 500)
}

/** Whether `text` names a row of the table, as codes that arrive over Redis must. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text)
}

/** Whether `text` names a class of errors. */
export function isErrorType(text: string): text is ErrorType {
  return (ERROR_TYPES as readonly string[]).includes(text)
}

/**
 * A plain validation error: 400 with code null.
 * @param message says what to change
 * @param param the request field at fault
 */
export function invalidRequest(message: string, param?: string): GatewayError {
  return new GatewayError('invalid_request', param === undefined ? { message } : { message, param })
}

/**
 * The JSON body of an error. It serves OpenAI clients, which read `error`, and Anthropic clients, which need the
 * top-level `type` and read `request_id`.
 */
export function errorBody(error: GatewayError, requestId: string): string {
  const { message, type, code, param } = error
  if (error.body !== undefined) return error.body
  return JSON.stringify({ type: 'error', error: { message, type, code, param }, request_id: requestId })
}
