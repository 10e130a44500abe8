import { NO_USAGE, type TokenUsage } from '../../../contract/money/charge.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'

/** How a request ended. `ok` and `partial` are charged; `failed` and `cut` free the hold. */
export const STATUS = {
  ok: sluice.Status.OK,
  partial: sluice.Status.PARTIAL,
  failed: sluice.Status.FAILED,
  cut: sluice.Status.CUT,
} as const
export type RunStatus = keyof typeof STATUS

export const SOURCE = {
  none: sluice.UsageSource.NONE,
  reported: sluice.UsageSource.REPORTED,
  estimated: sluice.UsageSource.ESTIMATED,
} as const
export type RunSource = keyof typeof SOURCE

export const RATE = { standard: sluice.Rate.STANDARD_RATE, batch: sluice.Rate.BATCH_RATE } as const
export const TIER = { standard: sluice.Tier.STANDARD_TIER, private: sluice.Tier.PRIVATE_TIER } as const

/** What a request costs, before it is bounded by its hold. */
export interface Bill {
  readonly units: number
  readonly usage: TokenUsage
  /** Of what is not priced by the token: images, characters, seconds, searches. */
  readonly quantity: number
  readonly source: RunSource
}

export const NO_BILL: Bill = { units: 0, usage: NO_USAGE, quantity: 0, source: 'none' }
