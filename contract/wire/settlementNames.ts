import { sluice } from './generated/messages.js'

/** How a request ended. `ok` and `partial` are charged; `failed` and `cut` free the hold, as does `orphaned`. */
export const STATUS = {
  ok: sluice.Status.OK,
  partial: sluice.Status.PARTIAL,
  failed: sluice.Status.FAILED,
  cut: sluice.Status.CUT,
  orphaned: sluice.Status.ORPHANED,
} as const
export type StatusName = keyof typeof STATUS

/** The source of the usage that a charge was computed from. */
export const USAGE_SOURCE = {
  none: sluice.UsageSource.NONE,
  reported: sluice.UsageSource.REPORTED,
  estimated: sluice.UsageSource.ESTIMATED,
} as const
export type UsageSourceName = keyof typeof USAGE_SOURCE

export const RATE = { standard: sluice.Rate.STANDARD_RATE, batch: sluice.Rate.BATCH_RATE } as const
export const TIER = { standard: sluice.Tier.STANDARD_TIER, private: sluice.Tier.PRIVATE_TIER } as const

/** The names of the numbers that settlements carry. @param numbers such as STATUS */
export function namesOf<Name extends string>(numbers: Readonly<Record<Name, number>>): ReadonlyMap<number, Name> {
  return new Map(Object.entries<number>(numbers).map(([name, number]) => [number, name as Name]))
}
