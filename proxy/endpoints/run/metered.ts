import type { Endpoint } from '../../../contract/catalog/catalog.ts'
import type { Tagging } from '../../../contract/money/tags.ts'
import type { RATE, TIER } from '../../../contract/wire/settlementNames.ts'
import type { LockHold } from '../../admission/lockHold.ts'
import type { PricedItem, Route } from '../../catalog/pricedItem.ts'

/** Tokens of a compute lock that pay for a request if its account has them, and the routes that serve it then. */
export interface LockUse {
  readonly hold: LockHold
  /** That of the provider of the series alone. */
  readonly routes: readonly Route[]
}

/** The hold of a request, and the routes that may serve it. */
export interface Metered {
  readonly endpoint: Endpoint
  readonly model: PricedItem
  /** In the order they are tried. */
  readonly routes: readonly Route[]
  /** The worst case, and the least that the hold may shrink to. */
  readonly wantUnits: number
  readonly leastUnits: number
  /** Tokens of prompt and answer at worst, which count against quotas; absent where it is not priced by them. */
  readonly tokensMax?: number
  /** The answer is relayed as it arrives. */
  readonly streamed: boolean
  /** Which rates the bill is made by; absent are the standard ones. */
  readonly rate?: keyof typeof RATE
  /** The tier whose prices the bill is computed by; absent means the key's. */
  readonly tier?: keyof typeof TIER
  /** Absent for a request that burns no tokens. */
  readonly lock?: LockUse | undefined
  /** The tags and the user that its body names; absent for none. */
  readonly tagging?: Tagging | undefined
}
