import { GatewayError } from '../../../contract/errors/errors.ts'
import { cleanMessage } from '../../../contract/providers/cleanMessage.ts'
import type { ProviderError } from '../../../contract/providers/providerError.ts'
import { faultOf } from '../../../contract/providers/providerFault.ts'
import type { Refusal } from '../../upstream/refusal.ts'

/** Sorts the error answer of a tool's upstream. @param status not 2xx */
export function classifyToolRefusal(status: number, stated: ProviderError, retryAfterMs: number): Refusal {
  const rest = { elsewhere: false, retryAfterMs }
  const { owner } = faultOf(status, stated)
  if (owner === 'rate') {
    const retryAfterSeconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
    const error = new GatewayError('upstream_rate_limited', { retryAfterSeconds })
    return { ...rest, error, routeFault: false, retryAfterMs: Math.max(retryAfterMs, 1000) }
  }
  // Clients never see problems of the gateway's own account with the upstream.
  if (owner === 'account') {
    return { ...rest, error: new GatewayError('tool_error'), routeFault: true }
  }
  if (owner === 'timeout') {
    return { ...rest, error: new GatewayError('tool_timeout'), routeFault: true, perhapsRequest: true }
  }
  if (owner !== 'provider' && status >= 400 && status < 500) {
    const reason = cleanMessage(stated.message)
    const message = reason === '' ? undefined : `The tool's provider refused the input: ${reason}`
    const error = new GatewayError('tool_input_rejected', { status, ...(message !== undefined && { message }) })
    return { ...rest, error, routeFault: false }
  }
  return { ...rest, error: new GatewayError('tool_upstream_error'), routeFault: true, perhapsRequest: true }
}

/** The client's error for a failure to reach an upstream; it replaces the text about a model's provider. */
export function toolError(error: GatewayError): GatewayError {
  if (error.row === 'upstream_timeout') return new GatewayError('tool_timeout', { cause: error.cause })
  if (error.row === 'upstream_unavailable') return new GatewayError('tool_upstream_error', { cause: error.cause })
  return error
}
