import type { HoldWaiter } from '../holds.ts'
import type { LeaseAsk } from './leaseCall.ts'
import type { LeaseRest } from './leaseRest.ts'
import type { ReservedTokens } from './reservedTokens.ts'

/** A request that waits for credits and coin, beside the tokens of a lock that it has. */
export interface WaitingRest {
  readonly waiter: HoldWaiter
  readonly tokens: ReservedTokens | null
}

/** The units of credits and coin that it waits for. */
export function restOf({ waiter, tokens }: WaitingRest): { readonly wantUnits: number; readonly leastUnits: number } {
  return tokens ?? waiter
}

/** The lease to ask for where these requests wait. @param permits below zero when one is owed @param free units of the lease */
export function leaseAsk({
  waiting,
  permits,
  free,
  extra,
  rest,
  principal,
  coinUsdUnits,
}: Pick<LeaseAsk, 'principal' | 'coinUsdUnits'> & {
  readonly waiting: readonly WaitingRest[]
  readonly permits: number
  readonly free: number
  readonly extra: { readonly units: number; readonly requests: number }
  /** Absent for a lease that may not rest. */
  readonly rest: LeaseRest | undefined
}): LeaseAsk {
  let wantUnits = -free
  for (const one of waiting) wantUnits += restOf(one).wantUnits
  const [first] = waiting
  const restAsk = first && rest?.ask(restOf(first).wantUnits, free)
  return {
    principal,
    coinUsdUnits,
    waiting: Math.max(0, waiting.length - permits),
    leastUnits: Math.max(0, (first === undefined ? 0 : restOf(first).leastUnits) - free),
    wantUnits: Math.max(0, wantUnits),
    extraUnits: extra.units,
    extraPermits: extra.requests,
    rest: restAsk,
  }
}

/** The requests that cannot do with what there is, and the others. @param unitsAt what there is, at a price of a coin */
export function shortOf(
  waiting: readonly WaitingRest[],
  unitsAt: (coinUsdUnits: number) => number,
): { readonly refused: WaitingRest[]; readonly others: WaitingRest[] } {
  const isShort = (one: WaitingRest): boolean => restOf(one).leastUnits > unitsAt(one.waiter.coinUsdUnits)
  return { refused: waiting.filter(isShort), others: waiting.filter((one) => !isShort(one)) }
}
