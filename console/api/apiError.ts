/** A refusal in the error shape of the API. */
export class ApiError extends Error {
  /** 0 where there was no answer. */
  readonly status: number
  /** A code of the error table. */
  readonly code: string | null
  /** Of the refused request, '' where none is known. */
  readonly requestId: string

  /** @param message says what to change */
  constructor(status: number, code: string | null, message: string, requestId = '') {
    super(message)
    this.status = status
    this.code = code
    this.requestId = requestId
  }
}

/** The error of an answer, whose body may be anything. */
export async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id') ?? ''
  const body: unknown = await response.json().catch(() => undefined)
  return errorIn(body, response.status, requestId)
}

/** The error that a body states in the error shape, which events of a stream have as well. */
export function errorIn(body: unknown, status: number, requestId: string): ApiError {
  const { error } = (body ?? {}) as { error?: { message?: unknown; code?: unknown } }
  const message = typeof error?.message === 'string' ? error.message : `The gateway answered ${status}.`
  return new ApiError(status, typeof error?.code === 'string' ? error.code : null, message, requestId)
}
