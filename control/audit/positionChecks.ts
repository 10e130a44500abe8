import { type AuditCheck, Faults } from './check.ts'
import type { Delivery } from './deliveryChecks.ts'

/**
 * No ending counts as booked that a living proxy has not delivered: the endings up to there would be taken for duplicates.
 * Redis says so only where it has something of the proxy; what it has lost, a proxy that lives reports again.
 * @param beats the last heartbeat of each proxy process
 */
export function checkPositions(deliveries: readonly Delivery[], beats: ReadonlyMap<string, number>): AuditCheck {
  const faults = new Faults()
  let compared = 0
  for (const { position, deliveredSeq } of deliveries) {
    const { owner, shard, seq, ahead } = position
    if (deliveredSeq === undefined || !beats.has(owner)) continue
    compared++
    const bookedSeq = ahead.at(-1)?.last ?? seq
    if (bookedSeq > deliveredSeq)
      faults.add(`${owner} in shard ${shard}: ${bookedSeq} endings count as booked, ${deliveredSeq} were delivered`)
  }
  return faults.check('no more endings are booked than were delivered', `${compared} positions of living proxies`)
}
