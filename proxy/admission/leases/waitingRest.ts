import type { HoldWaiter } from '../holds.ts'
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
