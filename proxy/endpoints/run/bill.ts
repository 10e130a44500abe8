import { NO_USAGE, type TokenUsage } from '../../../contract/money/charge.ts'
import type { StatusName, UsageSourceName } from '../../../contract/wire/settlementNames.ts'

/** How a request ends that this process has seen to its end. */
export type RunStatus = Exclude<StatusName, 'orphaned'>

/** The cost of a request, before it is bounded by its hold. */
export interface Bill {
  readonly units: number
  readonly usage: TokenUsage
  /** Of what is not priced by the token: images, characters, seconds, searches. */
  readonly quantity: number
  /** Of images whose price goes by it, WxH; absent for all else. */
  readonly size?: string
  readonly source: UsageSourceName
}

export const NO_BILL: Bill = { units: 0, usage: NO_USAGE, quantity: 0, source: 'none' }
