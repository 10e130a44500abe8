import { RestingChecks } from '../../restingChecks.ts'

const SLOTS = 4

/** A shard that is looked at periodically. */
interface Ticking {
  /** @returns whether there was something to do */
  tick(): boolean
}

/**
 * Ticks each shard once in an interval, a part of them at a time, so that Redis gets their deliveries spread over the interval.
 * While no shard has anything to do, all of them are ticked together after `restMs`.
 */
export function tickInSlots(shards: readonly Ticking[], everyMs: number, restMs: number): RestingChecks {
  let slot = 0
  return new RestingChecks({
    everyMs: everyMs / SLOTS,
    restMs,
    check: (_nowMs, isResting) => {
      let isBusy = false
      for (let i = isResting ? 0 : slot; i < shards.length; i += isResting ? 1 : SLOTS) {
        if (shards[i]?.tick() === true) isBusy = true
      }
      slot = (slot + 1) % SLOTS
      return isBusy
    },
  })
}
