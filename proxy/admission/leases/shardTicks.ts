import { checkDeadlines } from '../../checkDeadlines.ts'

const SLOTS = 4

/**
 * Ticks each shard once in an interval, a part of them at a time, so that Redis gets their deliveries spread over the interval.
 * @returns the timer, for clearInterval
 */
export function tickInSlots(shards: ReadonlyArray<{ tick(): void }>, everyMs: number): NodeJS.Timeout {
  let slot = 0
  return checkDeadlines(everyMs / SLOTS, () => {
    for (let i = slot; i < shards.length; i += SLOTS) shards[i]?.tick()
    slot = (slot + 1) % SLOTS
  })
}
