import { type ErrorCode, GatewayError } from '../../contract/errors/errors.ts'
import { formatUsd } from '../../contract/money/units.ts'
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
  const cap = CAP_REFUSALS.get(code)
  if (cap !== undefined) return new GatewayError(cap.code, { message: cap.message(formatUsd(leastUnits)) })
  switch (code) {
    case HoldCode.RATE:
      return new GatewayError('rate_limited', { retryAfterSeconds: Math.max(1, Math.ceil(retryMs / 1000)) })
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

const CAP_REFUSALS: ReadonlyMap<number, CapRefusal> = new Map<number, CapRefusal>([
  [HoldCode.BALANCE, { code: 'insufficient_balance', message: notCovered('balance', 'add funds') }],
  [HoldCode.CAP_HOUR, capRefusal('hourly')],
  [HoldCode.CAP_DAY, capRefusal('daily')],
  [HoldCode.CAP_MONTH, capRefusal('monthly')],
  [HoldCode.BUDGET, { code: 'key_budget_exceeded', message: notCovered("key's budget", 'raise it, use another key') }],
  [HoldCode.PLATFORM_CAP_HOUR, capRefusal('hourly', 'platform key')],
  [HoldCode.PLATFORM_CAP_DAY, capRefusal('daily', 'platform key')],
  [HoldCode.PLATFORM_CAP_MONTH, capRefusal('monthly', 'platform key')],
  [HoldCode.PLATFORM_BUDGET, { code: 'key_budget_exceeded', message: notCovered("platform key's budget", 'raise it') }],
])

function capRefusal(window: string, key = 'key'): CapRefusal {
  const message = notCovered(`${key}'s ${window} cap`, 'raise the cap, wait for the next period')
  return { code: 'spend_limit_exceeded', message }
}

function notCovered(what: string, remedy: string): CapRefusal['message'] {
  return (usd) =>
    `The ${what} does not cover the ${usd} USD that this request has to hold; ${remedy}, or ask for less, ` +
    'for example with a lower max_tokens.'
}
