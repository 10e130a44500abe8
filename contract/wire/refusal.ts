import { type ErrorType, GatewayError, isErrorCode, isErrorType } from '../errors/errors.ts'
import type { sluice } from './generated/messages.js'

/** An error as control sends it to a proxy, with everything that the client sees of it. */
export function refusalOf(error: GatewayError): sluice.Refusal.$Properties {
  return {
    row: error.row,
    message: error.message,
    status: error.status,
    type: error.type,
    param: error.param ?? '',
    retryAfterSeconds: error.retryAfterSeconds ?? 0,
  }
}

/** The error of a refusal. Missing members default to those of its row; an unknown row becomes internal_error. */
export function errorOf({
  row,
  message,
  status,
  type,
  param,
  retryAfterSeconds,
}: sluice.Refusal.$Properties): GatewayError {
  const options: { message?: string; status?: number; type?: ErrorType; param?: string; retryAfterSeconds?: number } =
    {}
  if (message) options.message = message
  if (status) options.status = status
  if (type && isErrorType(type)) options.type = type
  if (param) options.param = param
  if (retryAfterSeconds) options.retryAfterSeconds = retryAfterSeconds
  return new GatewayError(row && isErrorCode(row) ? row : 'internal_error', options)
}
