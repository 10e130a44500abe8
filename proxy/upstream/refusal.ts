import { GatewayError } from '../../contract/errors/errors.ts'

const MESSAGE_CHARACTERS_MAX = 300

/** The consequences of a provider's error answer for the request. */
export interface Refusal {
  /** The client's error if no other route is left. */
  readonly error: GatewayError
  /** Another route may serve the same request. */
  readonly elsewhere: boolean
  /** The route itself is in trouble, which its breaker counts. */
  readonly routeFault: boolean
  /** It may be the answer to this one request rather than the state of the route; absent is not. */
  readonly perhapsRequest?: boolean
  /** How long the provider asked for no requests (Retry-After), in milliseconds. */
  readonly retryAfterMs: number
}

/** An unusable answer: an error, empty, or unreadable. */
export interface Rejected {
  readonly rejected: Refusal
}

/** A provider's error as a dialect parses it. */
export interface ProviderError {
  readonly message: string
  readonly code: string
}

/**
 * Classifies a provider's error answer by status and code: a fault of the request, of this route, or of the gateway's own
 * account with the provider, which clients never see.
 * @param status not 2xx
 * @param ownStatus the client sees the provider's own 4xx status where the request is at fault
 */
export function classifyRefusal(
  status: number,
  provider: ProviderError,
  retryAfterMs: number,
  ownStatus = false,
): Refusal {
  // Chat answers 400 for every 4xx of the provider, except for a body that the provider found too large.
  const shown = ownStatus || status === 413 ? status : 400
  if (provider.code === 'context_length_exceeded') return requestFault('context_length_exceeded', 400, provider)
  if (status === 404) return { ...unavailable(), elsewhere: true, routeFault: false, retryAfterMs }
  const ours = status === 401 || status === 402 || status === 403 || provider.code === 'insufficient_credit'
  if (ours) return { ...unavailable(), routeFault: true, retryAfterMs }
  if (status === 429) {
    const retryAfterSeconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
    const error = new GatewayError('rate_limited', { message: BUSY, retryAfterSeconds })
    return { error, elsewhere: true, routeFault: false, retryAfterMs }
  }
  if (status === 408 || status === 504) {
    return {
      error: new GatewayError('upstream_timeout'),
      elsewhere: true,
      routeFault: true,
      perhapsRequest: true,
      retryAfterMs,
    }
  }
  if (status >= 400 && status < 500) return requestFault('upstream_rejected', shown, provider)
  return { ...unavailable(), routeFault: true, perhapsRequest: true, retryAfterMs }
}

/**
 * The consequences of a registered provider's error answer: it does not decide that a request is at fault, and its words are
 * never shown to the client.
 */
export function refusalOfRegistered({ error, retryAfterMs, routeFault, perhapsRequest }: Refusal): Refusal {
  const shown = error.row === 'upstream_timeout' ? error : new GatewayError('upstream_unavailable')
  const route = { routeFault, retryAfterMs, ...(perhapsRequest !== undefined && { perhapsRequest }) }
  return { ...route, error: shown, elsewhere: true }
}

const BUSY = 'Every provider of this model limits its rate; try again after Retry-After seconds.'

function unavailable(): { error: GatewayError; elsewhere: boolean } {
  return { error: new GatewayError('upstream_unavailable'), elsewhere: true }
}

function requestFault(
  code: 'context_length_exceeded' | 'upstream_rejected',
  status: number,
  provider: ProviderError,
): Refusal {
  const reason = cleanMessage(provider.message)
  const message = reason === '' ? undefined : `The provider rejected the request: ${reason}`
  const error = new GatewayError(code, { message, status })
  return { error, elsewhere: false, routeFault: false, retryAfterMs: 0 }
}

/** A provider's message without addresses, keys and organisation ids, cut to a sensible length. */
export function cleanMessage(message: string): string {
  return message
    .replace(/https?:\/\/\S+/gi, '')
    .replace(/\b(?:sk|key|org|proj|req)[-_][A-Za-z0-9_-]{6,}/g, '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, MESSAGE_CHARACTERS_MAX)
}
