import type { Held } from '../held.ts'
import type { HoldWaiter } from '../holds.ts'
import type { Journal } from '../journal/journal.ts'
import type { JournalListener } from '../journal/listener.ts'
import { openingText } from '../journal/records.ts'
import type { Segment } from '../journal/segment.ts'
import { NO_PARTS, splitText } from '../parts.ts'
import { SteadyMap } from '../steadyMap.ts'
import type { HeldFrom, Lease } from './lease.ts'
import { NOBODY, OpenHold } from './openHold.ts'

/** The requests of a process that hold units. */
export class OpenHolds {
  private readonly holds = new SteadyMap<OpenHold>()
  private readonly journal: Journal
  private readonly onRefused = (hold: OpenHold): void => {
    hold.lease.release(hold.held.parts, NO_PARTS)
    this.remove(hold)
  }

  constructor(journal: Journal) {
    this.journal = journal
  }

  get size(): number {
    return this.holds.size
  }

  /** Those whose opening is in the journal. */
  get writtenCount(): number {
    let count = 0
    for (const hold of this.holds.values()) if (hold.isWritten) count++
    return count
  }

  get(requestId: string): OpenHold | undefined {
    return this.holds.get(requestId)
  }

  /** Records a hold; its waiter is called back once it is in the journal. */
  add(waiter: HoldWaiter, lease: Lease, held: Held): void {
    const hold = new OpenHold(waiter, lease, held, this.onRefused)
    this.holds.set(waiter.requestId, hold)
    this.write(hold, hold)
  }

  /** Records a hold that Redis keeps by itself. */
  addSingle(waiter: HoldWaiter, single: HeldFrom, held: Held): void {
    this.holds.set(waiter.requestId, new OpenHold(waiter, single, held, this.onRefused))
  }

  /** The request has ended. */
  remove(hold: OpenHold): void {
    this.holds.delete(hold.waiter.requestId)
    if (hold.segment !== undefined) hold.segment.openCount--
    hold.segment = undefined
  }

  isIn(shard: number): boolean {
    return !this.ofShard(shard).next().done
  }

  *ofShard(shard: number): Generator<OpenHold> {
    for (const hold of this.holds.values()) if (hold.lease.name.shard === shard) yield hold
  }

  /** Writes the openings that a segment is kept for to the journal's end, so that it can go. */
  writeAgain(segment: Segment): void {
    for (const hold of this.holds.values()) {
      if (hold.segment !== segment) continue
      segment.openCount--
      this.write(hold, NOBODY)
    }
  }

  private write(hold: OpenHold, listener: JournalListener): void {
    const { waiter, lease, held } = hold
    const record = openingText(lease.text, waiter.requestId, splitText(held.parts), held.heldAtMs, waiter.holdMeta)
    hold.segment = this.journal.append(record, listener)
    hold.segment.openCount++
  }
}
