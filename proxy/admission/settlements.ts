import { setTimeout as sleep } from 'node:timers/promises'
import type { FixedArguments } from '../../contract/wire/scriptArguments.ts'
import { type Script, SettleCode } from '../../contract/wire/scripts.ts'
import type { Limits } from '../limits.ts'
import {
  type Ending,
  type EndingWaiter,
  inBatches,
  keysOfEnding,
  type PendingEnding,
  type Settling,
  settleCall,
} from './ending.ts'
import type { Journal } from './journal.ts'
import { notifyWaiter } from './notifyWaiter.ts'
import { SettlementRetries } from './settlementRetries.ts'
import { ShardKeyCache } from './shardKeyCache.ts'

export type { Ending, EndingWaiter } from './ending.ts'

export interface SettlementsOptions {
  readonly script: Script
  /** Runs something once the events of this turn are dealt with. */
  readonly schedule: (work: () => void) => void
  readonly limits: Limits
  readonly perShard: boolean
  readonly journal: Journal
  /** Whether a call can reach Redis now; if not, nothing is sent. */
  readonly connected: () => boolean
  /** Ends a request whose hold Redis does not know, exactly once; resolves with the units charged. */
  readonly settleLost: (ending: Ending) => Promise<number>
  readonly onFault: (error: unknown) => void
}

/**
 * Ends holds, batched as they arrive. What Redis does not take is kept and tried again until it does, in memory and
 * past a bound in the journal on disk, so that an outage of Redis loses no charge.
 */
export class Settlements implements Settling {
  private readonly options: SettlementsOptions
  private readonly retries: SettlementRetries
  private readonly shardKeys = new ShardKeyCache()
  private waiting: PendingEnding[] = []
  /** Sent to Redis, or to control because Redis did not know them. */
  // An array: a Set that churns keeps what was in it from being collected.
  private readonly inFlight: (readonly PendingEnding[])[] = []
  private inFlightCount = 0
  private scheduled = false
  private stopping = false
  private stopped = false
  private replaying = false
  private idle: (() => void) | undefined
  private readonly flush = () => {
    this.scheduled = false
    const waiting = this.waiting
    this.waiting = []
    if (this.options.connected()) void this.sendAll(waiting)
    else for (const pending of waiting) this.retry(pending)
  }

  constructor(options: SettlementsOptions) {
    this.options = options
    this.retries = new SettlementRetries({
      limits: options.limits,
      connected: options.connected,
      send: (pendings) => this.sendAll(pendings),
      onDelayed: (pending) => this.notifyDelayed(pending),
    })
  }

  /** Endings in memory that Redis has not accepted yet. */
  get openCount(): number {
    return this.waiting.length + this.retries.size + this.inFlightCount
  }

  /** Redis has accepted every ending of this process, and none is left on disk. */
  get allAccepted(): boolean {
    return this.openCount === 0 && !this.options.journal.written
  }

  end(ending: Ending, keys: FixedArguments, waiter: EndingWaiter | null): void {
    const pending = newPending(ending, keys, waiter, null)
    if (this.stopped || this.openCount >= this.options.limits.settleQueueMax) this.writeDown(pending)
    else this.enqueue(pending)
  }

  /** Resolves when every ending is accepted, or after `timeoutMs`; what is left then goes to the journal. */
  async stop(timeoutMs: number): Promise<void> {
    this.stopping = true
    if (this.openCount > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs)
        this.idle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.stopped = true
    this.retries.stop()
    const { journal } = this.options
    // What is in flight may have reached Redis; ending a request twice is harmless, losing it is not.
    for (const pending of [...this.waiting, ...this.retries.pendings, ...this.inFlight.flat()]) {
      if (!pending.journaled) journal.append(pending.ending)
    }
    journal.close()
  }

  /** Sends what earlier processes and outages left in the journal, until none is left. It never throws. */
  replayJournal(): void {
    if (this.replaying || this.stopping) return
    this.replaying = true
    this.replaySegments()
      .catch(this.options.onFault)
      .finally(() => {
        this.replaying = false
      })
  }

  private async replaySegments(): Promise<void> {
    const { journal, limits, connected } = this.options
    while (!this.stopping) {
      if (!connected()) {
        await sleep(limits.settleRetryMs, undefined, { ref: false })
        continue
      }
      const segment = journal.claim()
      if (segment === undefined) return
      for (let from = 0; from < segment.endings.length; from += limits.holdBatchMax) {
        if (this.stopping) return
        await this.replayBatch(segment.endings.slice(from, from + limits.holdBatchMax))
      }
      journal.remove(segment)
    }
  }

  // The file stays until the last of its endings is accepted, so these are never written down a second time.
  private replayBatch(endings: readonly Ending[]): Promise<void> {
    return new Promise((resolve) => {
      let left = endings.length
      const onDone = () => {
        left--
        if (left === 0) resolve()
      }
      for (const ending of endings) this.enqueue(newPending(ending, keysOfEnding(ending), null, onDone))
    })
  }

  private enqueue(pending: PendingEnding): void {
    this.waiting.push(pending)
    if (this.scheduled) return
    this.scheduled = true
    this.options.schedule(this.flush)
  }

  /** Resolves, never rejects, when each has been accepted or handed to the retries; false when one of them could not be. */
  private async sendAll(pendings: readonly PendingEnding[]): Promise<boolean> {
    const { holdBatchMax } = this.options.limits
    const batches = inBatches(pendings, holdBatchMax, this.options.perShard)
    const [only] = batches
    if (only !== undefined && batches.length === 1) return this.send(only)
    const answered = await Promise.all(batches.map((batch) => this.send(batch)))
    return !answered.includes(false)
  }

  private async send(batch: readonly PendingEnding[]): Promise<boolean> {
    const { keys, args } = settleCall(batch, this.options.limits.rememberResultMinutes, this.shardKeys)
    this.takeOff(batch)
    try {
      const reply = (await this.options.script(keys, args)) as number[]
      this.landed(batch)
      return await this.deliver(batch, reply)
    } catch (error) {
      this.landed(batch)
      this.options.onFault(error)
      for (const pending of batch) this.retry(pending)
      this.checkIdle()
      return false
    }
  }

  private async deliver(batch: readonly PendingEnding[], reply: readonly number[]): Promise<boolean> {
    let open = true
    const lost: Promise<boolean>[] = []
    for (const [i, pending] of batch.entries()) {
      const code = reply[i * 2]
      if (code === SettleCode.CLOSED) {
        open = false
        this.retry(pending)
      } else if (code === SettleCode.UNKNOWN) {
        if (pending.ending.chargeUnits < 0) this.voidUnknown(pending)
        else lost.push(this.settleLost(pending))
      } else if (code === SettleCode.ALREADY_VOIDED && pending.ending.chargeUnits >= 0) {
        // Control gave the request up and booked it so; a receipt of this process would say otherwise.
        this.notifyDelayed(pending, true)
        this.forget(pending)
      } else {
        this.accepted(pending, Math.max(0, reply[i * 2 + 1] as number))
      }
    }
    if (lost.length > 0 && (await Promise.all(lost)).includes(false)) open = false
    this.checkIdle()
    return open
  }

  // The hold may be on its way still: its call was lost with a connection that Redis has not read to the end.
  private voidUnknown(pending: PendingEnding): void {
    this.notifySettled(pending, 0)
    if (Date.now() - pending.sinceMs >= this.options.limits.lostHoldWatchMs) this.forget(pending)
    else this.retry(pending)
  }

  // A charge without a hold: it was ended long ago, or the hold was lost with Redis. Control knows which.
  private async settleLost(pending: PendingEnding): Promise<boolean> {
    const call = [pending]
    this.takeOff(call)
    try {
      const chargedUnits = await this.options.settleLost(pending.ending)
      this.landed(call)
      // Nothing was charged: the book may show that it was given up, so the answer goes out without a receipt.
      if (chargedUnits === 0 && pending.ending.chargeUnits > 0) this.notifyDelayed(pending, true)
      this.accepted(pending, chargedUnits)
      return true
    } catch (error) {
      this.landed(call)
      this.options.onFault(error)
      this.retry(pending)
      return false
    }
  }

  private takeOff(batch: readonly PendingEnding[]): void {
    this.inFlight.push(batch)
    this.inFlightCount += batch.length
  }

  private landed(batch: readonly PendingEnding[]): void {
    this.inFlight.splice(this.inFlight.indexOf(batch), 1)
    this.inFlightCount -= batch.length
  }

  private retry(pending: PendingEnding): void {
    if (Date.now() - pending.sinceMs >= this.options.limits.settleTimeoutMs) this.notifyDelayed(pending)
    if (pending.journaled || this.openCount < this.options.limits.settleQueueMax) this.retries.add(pending)
    else this.writeDown(pending)
  }

  private writeDown(pending: PendingEnding): void {
    this.options.journal.append(pending.ending)
    this.notifyDelayed(pending)
    this.forget(pending)
  }

  private accepted(pending: PendingEnding, units: number): void {
    this.notifySettled(pending, units)
    this.forget(pending)
  }

  private forget(pending: PendingEnding): void {
    pending.onDone?.()
  }

  private notifySettled(pending: PendingEnding, units: number): void {
    this.notify(pending, (waiter) => waiter.onSettled(units))
  }

  private notifyDelayed(pending: PendingEnding, givenUp = false): void {
    this.notify(pending, (waiter) => waiter.onSettleDelayed(givenUp))
  }

  private notify(pending: PendingEnding, call: (waiter: EndingWaiter) => void): void {
    const { waiter } = pending
    if (waiter === null) return
    pending.waiter = null
    notifyWaiter(waiter, call, this.options.onFault)
  }

  private checkIdle(): void {
    if (this.openCount === 0) this.idle?.()
    if (this.options.journal.written && this.retries.size === 0) this.replayJournal()
  }
}

function newPending(
  ending: Ending,
  keys: FixedArguments,
  waiter: EndingWaiter | null,
  onDone: (() => void) | null,
): PendingEnding {
  return { ending, keys, waiter, sinceMs: Date.now(), journaled: onDone !== null, onDone }
}
