import { type ErrorCode, GatewayError } from '../../contract/errors/errors.ts'
import { formatUsd } from '../../contract/money/units.ts'
import { WINDOW } from '../../contract/money/windows.ts'
import { capName, type MetCap, metCap } from '../../contract/wire/caps.ts'
import { HoldCode } from '../../contract/wire/scripts.ts'

/** The values of a request that its client's error for a refused hold depends on. */
interface RefusedRequest {
  readonly requestId: string
  readonly principal: { readonly accountId: string }
}

/** Why a hold is refused. */
export interface Refusal {
  /** HoldCode */
  readonly code: number
  /** After which the key's rate lets the request pass; 0 for other codes. */
  readonly retryMs: number
  /** The least that would have to be held. */
  readonly leastUnits: number
}

/**
 * The client's error for a refused hold.
 * @param onFault called for codes that are internal faults rather than refusals
 */
export function holdRefusal(
  waiter: RefusedRequest,
  { code, retryMs, leastUnits }: Refusal,
  onFault: (error: unknown) => void,
): GatewayError {
  const cap = metCap(code)
  const short = cap !== undefined ? capRefusal(cap) : code === HoldCode.BALANCE ? BALANCE_REFUSAL : undefined
  if (short !== undefined) {
    const figures = { refusedBy: cap === undefined ? 'balance' : capName(cap) }
    return new GatewayError(short.code, { message: short.message(formatUsd(leastUnits)), figures })
  }
  switch (code) {
    case HoldCode.RATE:
      return new GatewayError('rate_limited', {
        retryAfterSeconds: Math.max(1, Math.ceil(retryMs / 1000)),
        figures: { refusedBy: 'rate' },
      })
    case HoldCode.NO_ACCOUNT:
      onFault(new Error(`account ${waiter.principal.accountId} is not loaded in Redis`))
      return new GatewayError('admission_unavailable', { retryAfterSeconds: 1 })
    case HoldCode.CLOSED:
    case HoldCode.BACKLOG:
      return new GatewayError('admission_unavailable', { retryAfterSeconds: 2 })
    default:
      onFault(new Error(`the hold of ${waiter.requestId} was refused with code ${code}`))
      return new GatewayError('internal_error')
  }
}

/** A refusal by balance, cap or budget; its message gets the least amount that would have to be held, in USD. */
interface CapRefusal {
  readonly code: ErrorCode
  message(usd: string): string
}

function capRefusal({ span, isPlatforms }: MetCap): CapRefusal {
  const key = isPlatforms ? 'platform key' : 'key'
  if (span !== 'life') {
    const message = notCovered(`${key}'s ${WINDOW[span].adjective} cap`, 'raise the cap, wait for the next period')
    return { code: 'spend_limit_exceeded', message }
  }
  const remedy = isPlatforms ? 'raise it' : 'raise it, use another key'
  return { code: 'key_budget_exceeded', message: notCovered(`${key}'s budget`, remedy) }
}

const BALANCE_REFUSAL: CapRefusal = { code: 'insufficient_balance', message: notCovered('balance', 'add funds') }

function notCovered(what: string, remedy: string): CapRefusal['message'] {
  return (usd) =>
    `The ${what} does not cover the ${usd} USD that this request has to hold; ${remedy}, or ask for less, ` +
    'for example with a lower max_tokens.'
}
