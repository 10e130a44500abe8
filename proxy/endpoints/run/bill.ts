import { NO_USAGE, type TokenUsage } from '../../../contract/money/charge.ts'
import type { StatusName, UsageSourceName } from '../../../contract/wire/settlementNames.ts'

/** The final status of a request that this process has ended itself. */
export type RunStatus = Exclude<StatusName, 'orphaned'>

/** The cost of a request, before it is bounded by its hold. */
export interface Bill {
  readonly units: number
  readonly usage: TokenUsage
  /** The quantity of counted units: images, characters, seconds, searches. */
  readonly quantity: number
  /** The size of images whose price depends on it, WxH; else absent. */
  readonly size?: string
  readonly source: UsageSourceName
}

export const NO_BILL: Bill = { units: 0, usage: NO_USAGE, quantity: 0, source: 'none' }
