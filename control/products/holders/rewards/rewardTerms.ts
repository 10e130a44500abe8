import type { Address } from '../../../../contract/payments/address.ts'
import type { HolderSettings } from '../../../chain/holderSettings.ts'

/** The terms under which holders are rewarded. */
export interface RewardTerms {
  readonly chainId: number
  /** Null where the operator has named neither a vault nor a distributor. */
  readonly holders: HolderSettings | null
  /** Addresses that get no rewards. */
  readonly excluded: readonly Address[]
}

/** The terms of a gateway that rewards holders. */
export interface PaidTerms extends RewardTerms {
  readonly holders: HolderSettings
}
