import { GatewayError } from '../../contract/errors/errors.ts'
import { cleanMessage } from '../../contract/providers/cleanMessage.ts'
import type { ProviderError } from '../../contract/providers/providerError.ts'
import { faultOf } from '../../contract/providers/providerFault.ts'
import type { RequestPart } from '../../contract/providers/requestPart.ts'
import type { KeyFault } from './keys/keyHealth.ts'

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
  /** The gateway's account at the provider is of no use for now, and why; absent is not, or not for certain. */
  readonly accountFault?: string
  /** It is the fault of the key that the request was sent with, so that another key may serve; absent is not. */
  readonly keyFault?: KeyFault
}

/** An unusable answer: an error, empty, or unreadable. */
export interface Rejected {
  readonly rejected: Refusal
}

/** The reason of a refusal, for operators. @param otherwise where the gateway's account is in order */
export function faultText({ accountFault }: Refusal, otherwise: string): string {
  return accountFault === undefined ? otherwise : `account at the provider: ${accountFault}`
}

/** The cause of an error: the provider does not take a part of the request, and may take it without. */
export class RefusedPart extends Error {
  override readonly name = 'RefusedPart'
  readonly part: RequestPart

  constructor(part: RequestPart) {
    super(part)
    this.part = part
  }
}

/**
 * Classifies a provider's error answer: a fault of the request, of this route, or of the gateway's own account with the
 * provider, which clients never see.
 * @param status not 2xx
 * @param retryAfterMs how long the answer asks for no requests; 0 where it does not
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
  const { owner, part, name, certain } = faultOf(status, provider)
  switch (owner) {
    case 'context':
      return requestFault('context_length_exceeded', 400, provider)
    case 'route':
      return { ...unavailable(part), routeFault: false, retryAfterMs }
    case 'account': {
      // A rejected credential may be one of a provider that is changing it, and a sentence may be an echo of the request.
      const isEcho = !certain && (status === 400 || status === 422)
      return {
        ...unavailable(),
        routeFault: true,
        // A firewall before the provider denies what one request says, with the status of an account.
        ...((isEcho || provider.isPage === true) && { perhapsRequest: true }),
        retryAfterMs,
        ...(certain && { accountFault: name === '' ? 'no money' : name }),
        // A key may be denied for what a request asks, and so must not be out for long.
        ...(!isEcho && { keyFault: certain || status === 401 ? 'account' : 'denied' }),
      }
    }
    case 'rate': {
      const retryAfterSeconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
      const error = new GatewayError('rate_limited', { message: BUSY, retryAfterSeconds })
      return { error, elsewhere: true, routeFault: false, retryAfterMs, keyFault: 'rate' }
    }
    case 'timeout': {
      const error = new GatewayError('upstream_timeout')
      return { error, elsewhere: true, routeFault: true, perhapsRequest: true, retryAfterMs }
    }
    case 'request':
      return requestFault('upstream_rejected', shown, provider, part)
    default:
      return { ...unavailable(), routeFault: true, perhapsRequest: true, retryAfterMs }
  }
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

/** Of an error that asks the client to wait. */
export const BUSY = 'Every provider of this model limits its rate; try again after Retry-After seconds.'

/** @param part without which the request may be served where no other route is left */
function unavailable(part?: RequestPart): { error: GatewayError; elsewhere: boolean } {
  return { error: new GatewayError('upstream_unavailable', { cause: part && new RefusedPart(part) }), elsewhere: true }
}

function requestFault(
  code: 'context_length_exceeded' | 'upstream_rejected',
  status: number,
  provider: ProviderError,
  part?: RequestPart,
): Refusal {
  const reason = cleanMessage(provider.message)
  const message = reason === '' ? undefined : `The provider rejected the request: ${reason}`
  const error = new GatewayError(code, { message, status, cause: part && new RefusedPart(part) })
  return { error, elsewhere: false, routeFault: false, retryAfterMs: 0 }
}

/** An answer that did not arrive, or not in time. */
export function refusalOfFailure(cause: Error, timedOut: boolean): Refusal {
  const error = new GatewayError(timedOut ? 'upstream_timeout' : 'upstream_unavailable', { cause })
  return { error, elsewhere: true, routeFault: true, retryAfterMs: 0, perhapsRequest: false }
}
