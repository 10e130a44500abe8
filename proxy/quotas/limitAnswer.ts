import type { Quota } from '../../contract/catalog/quota.ts'
import { GatewayError } from '../../contract/errors/errors.ts'
import type { LimitFigure, RefusalFigures } from '../../contract/errors/figures.ts'
import { QuotaCode } from '../../contract/wire/scripts.ts'
import type { Denial, PotUse } from './permit.ts'
import type { Pot } from './pot.ts'

/** The use of a limit. */
export type LimitUse = Omit<PotUse, 'pot'> & { readonly pot: Quota }

/** The error of a request whose limits have no room. */
export function limitRefusal(denial: Denial): GatewayError {
  const { code, limit, waitMs, pot } = denial
  if (code === undefined) return new GatewayError('admission_unavailable', { retryAfterSeconds: 1 })
  const subject = pot?.subject ?? 'The key'
  if (code === QuotaCode.TOO_LARGE) {
    const message = `${subject} may use ${limit} tokens a minute, less than this request may need; lower max_tokens, or send a shorter prompt.`
    return new GatewayError('invalid_request', { message, param: 'max_tokens', figures: figuresOf(denial) })
  }
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000))
  const what = code === QuotaCode.PARALLEL ? 'requests in flight' : `${KIND[code] ?? 'requests'} a minute`
  const message = `${subject} has used its ${limit} ${what}; try again after Retry-After seconds.`
  return new GatewayError('rate_limited', { message, retryAfterSeconds, figures: figuresOf(denial) })
}

function figuresOf({ code, pot, uses }: Denial): RefusalFigures {
  return { refusedBy: 'limits', limits: limitFigures(uses, pot, code) }
}

const CHECK_OF: Readonly<Record<number, LimitFigure['check']>> = {
  [QuotaCode.REQUESTS]: 'requests_per_minute',
  [QuotaCode.TOKENS]: 'tokens_per_minute',
  [QuotaCode.TOO_LARGE]: 'tokens_per_minute',
  [QuotaCode.PARALLEL]: 'requests_in_flight',
}

/**
 * The limits of a request, and what was used of them.
 * @param met the pot without room; absent where all had room
 * @param code what it has no room for
 */
export function limitFigures(uses: readonly PotUse[], met?: Pot, code: number = QuotaCode.OK): readonly LimitFigure[] {
  return uses.flatMap(({ pot, requests, tokens }) => {
    const { subject = '', requestsPerMinute, tokensPerMinute, parallel } = pot
    const figure = (check: LimitFigure['check'], limit: number, used: number | null): LimitFigure[] => {
      const isMet = pot.key === met?.key && check === CHECK_OF[code]
      return limit === 0 ? [] : [{ subject, check, limit, used: used ?? (isMet ? limit : null), isMet }]
    }
    return [
      ...figure('requests_per_minute', requestsPerMinute, requests),
      ...figure('tokens_per_minute', tokensPerMinute, tokens),
      ...figure('requests_in_flight', parallel, null),
    ]
  })
}

const KIND: Readonly<Record<number, string>> = { [QuotaCode.REQUESTS]: 'requests', [QuotaCode.TOKENS]: 'tokens' }

/** The use of a key's rate, which fills up evenly over a minute. @param left of a minute's requests */
export function rateUse(requestsPerMinute: number, left: number): LimitUse {
  const requests = Math.max(0, requestsPerMinute - left)
  const resetMs = (requests * 60_000) / requestsPerMinute
  return { pot: { requestsPerMinute, tokensPerMinute: 0, parallel: 0 }, requests, tokens: 0, resetMs }
}

const namesOf = (kind: string): readonly [string, string, string] => [
  `x-ratelimit-limit-${kind}`,
  `x-ratelimit-remaining-${kind}`,
  `x-ratelimit-reset-${kind}`,
]
const OF_REQUESTS = namesOf('requests')
const OF_TOKENS = namesOf('tokens')

/** The headers with the limits of a minute and the rest of them, by the pot that has the least left. Every answer has them. */
export function limitHeaders(uses: readonly LimitUse[]): readonly string[] {
  const headers: string[] = []
  addLeast(headers, OF_REQUESTS, uses, 'requestsPerMinute', 'requests')
  addLeast(headers, OF_TOKENS, uses, 'tokensPerMinute', 'tokens')
  return headers
}

function addLeast(
  headers: string[],
  names: readonly [string, string, string],
  uses: readonly LimitUse[],
  limitName: 'requestsPerMinute' | 'tokensPerMinute',
  usedName: 'requests' | 'tokens',
): void {
  let least: LimitUse | undefined
  let leastLeft = Number.POSITIVE_INFINITY
  for (const use of uses) {
    const left = Math.max(0, use.pot[limitName] - use[usedName])
    if (use.pot[limitName] === 0 || left >= leastLeft) continue
    least = use
    leastLeft = left
  }
  if (least === undefined) return
  headers.push(names[0], `${least.pot[limitName]}`, names[1], `${leastLeft}`, names[2], durationText(least.resetMs))
}

/** A duration in whole seconds, such as `6m0s`. */
export function durationText(ms: number): string {
  const seconds = Math.ceil(ms / 1_000)
  const minutes = Math.floor(seconds / 60)
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds % 60}s`
}
