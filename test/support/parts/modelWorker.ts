import { UNITS_PER_USD } from '../../../contract/money/units.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { epochKey, leasesKey } from '../../../contract/wire/redisKeys.ts'
import type { Script } from '../../../contract/wire/scripts.ts'
import type { Principal } from '../../../proxy/access/principal.ts'
import type { Held } from '../../../proxy/admission/held.ts'
import type { Journal } from '../../../proxy/admission/journal/journal.ts'
import type { JournalListener } from '../../../proxy/admission/journal/listener.ts'
import type { LeasedEnding } from '../../../proxy/admission/leases/batch.ts'
import type { LeaseContext } from '../../../proxy/admission/leases/leaseContext.ts'
import type { LeaseScripts } from '../../../proxy/admission/leases/leaseScripts.ts'
import { NextTurn } from '../../../proxy/admission/leases/nextTurn.ts'
import { EndedHold } from '../../../proxy/admission/leases/openHold.ts'
import { OpenHolds } from '../../../proxy/admission/leases/openHolds.ts'
import { RestingKeys } from '../../../proxy/admission/leases/restingKeys.ts'
import { ShardCalls } from '../../../proxy/admission/leases/shardCalls.ts'
import { ShardLeases } from '../../../proxy/admission/leases/shardLeases.ts'
import { limitsWith } from '../limits.ts'
import type { ClockScripts } from './clockScripts.ts'

const LIMITS = limitsWith({ settleRetryMs: 0, leaseRestsMax: 2 })

/** How the next call is lost; a late one arrives after others. */
export type Lost = 'call' | 'answer' | 'late'

/** What the workers of a schedule share. */
export interface ModelWorld {
  readonly shard: number
  readonly accountId: string
  readonly nowMs: number
  /** Calls of lease.lua that were taken. */
  leaseCalls: number
  readonly faults: unknown[]
}

/** What a request was told: its hold in units, or why it has none. */
export interface Outcome {
  readonly held?: number
  readonly heldAtMs?: number
  readonly code?: number
}

/** The real leases of one worker in one shard, with a journal in memory, and calls that can be lost. */
export class ModelWorker {
  readonly owner = newId('own')
  private readonly model: ModelWorld
  private readonly scripts: ClockScripts
  private readonly context: LeaseContext
  private readonly open: OpenHolds
  private readonly leases: ShardLeases
  private readonly written: LeasedEnding[] = []
  private bookedSeq = 0
  private exactUntilMs = 0
  private calling = 0
  private lastCall = 0
  private isDead = false
  private losing: Lost | undefined
  private late: (() => Promise<unknown>)[] = []
  private retries: (() => void)[] = []
  private readonly refusals = new Map<string, number>()

  constructor(model: ModelWorld, scripts: ClockScripts, workers: () => readonly ModelWorker[]) {
    this.model = model
    this.scripts = scripts
    const journal = {
      append: (_record: string, listener: JournalListener) => {
        if (listener instanceof EndedHold) this.written.push(listener.ending)
        queueMicrotask(() => listener.onWritten())
        return { openCount: 0, noteEnding: () => undefined }
      },
    }
    this.open = new OpenHolds(journal as unknown as Journal)
    this.context = {
      owner: this.owner,
      scripts: this.leaseScripts(),
      limits: LIMITS,
      clock: { now: () => model.nowMs } as LeaseContext['clock'],
      journal: journal as unknown as Journal,
      resting: new RestingKeys(LIMITS),
      turn: new NextTurn(),
      connected: () => !this.isDead,
      serverChanges: () => 0,
      mayUse: true,
      isExact: () => model.nowMs < this.exactUntilMs,
      refuse: (waiter, { code }) => {
        this.refusals.set(waiter.requestId, code)
        waiter.onHoldRefused(new Error('refused') as never)
      },
      recall: () => {
        for (const worker of workers()) worker.recalled()
      },
      retrySoon: (retry) => void this.retries.push(retry),
      answered: () => undefined,
      booked: async () => new Map([[model.shard, this.bookedSeq]]),
      journaled: async (_shard, afterSeq, lastSeq) => this.written.slice(afterSeq, lastSeq),
      onFault: (error) => {
        if (!(error instanceof LostError)) model.faults.push(error)
      },
    }
    this.leases = new ShardLeases(model.shard, this.context, this.open)
  }

  get isCalling(): boolean {
    return this.calling > 0
  }

  /** Its next call is lost. */
  get isLosing(): boolean {
    return this.losing !== undefined
  }

  /** Units that were charged and are not in Redis. */
  get undeliveredUnits(): number {
    return this.undelivered.reduce((sum, { charged }) => sum + charged.coinUnits, 0)
  }

  undeliveredOf(keyId: string): number {
    return this.undelivered
      .filter(({ lease }) => lease.keyId === keyId)
      .reduce((sum, { charged }) => sum + charged.coinUnits, 0)
  }

  get bookedEndings(): readonly LeasedEnding[] {
    return this.written.slice(0, this.bookedSeq)
  }

  take(principal: Principal, units: number, onOutcome: (requestId: string, outcome: Outcome) => void): void {
    const requestId = newId('req')
    const waiter = {
      requestId,
      principal,
      wantUnits: units,
      leastUnits: units,
      holdMeta: '',
      coinUsdUnits: UNITS_PER_USD,
      onHeld: ({ units: held, heldAtMs }: Held) => told({ held, heldAtMs }),
      onHoldRefused: () => told({ code: this.refusals.get(requestId) ?? -1 }),
      onCrashed: (error: unknown) => void this.model.faults.push(error),
    }
    const told = (outcome: Outcome): void => {
      try {
        onOutcome(requestId, outcome)
      } catch (error) {
        this.model.faults.push(error)
      }
    }
    this.leases.take(waiter, this.model.nowMs)
  }

  end(requestId: string, units: number): void {
    const hold = this.open.get(requestId)
    if (hold === undefined) throw new Error(`${requestId} is not open`)
    this.leases.end(hold, units, '', null)
    this.open.remove(hold)
  }

  recalled(): void {
    this.exactUntilMs = this.model.nowMs + LIMITS.recallExactMs
    this.leases.recall(this.model.accountId)
  }

  changed({ keyId }: Principal): void {
    this.leases.keys.endRestOf(keyId)
  }

  review(): void {
    this.context.resting.review(this.model.nowMs)
    this.leases.review(this.model.nowMs)
    this.leases.tick()
  }

  tick(): void {
    this.leases.tick()
  }

  giveAllBack(): void {
    this.leases.review(Number.POSITIVE_INFINITY, true)
    this.leases.tick()
  }

  lose(part: Lost): void {
    this.losing = part
  }

  /** Calls that were given up with their connection arrive, after later ones. */
  async arriveLate(): Promise<void> {
    for (const call of this.late.splice(0)) await call()
  }

  takeRetries(): (() => void)[] {
    return this.retries.splice(0)
  }

  /** Control repeats the question when a call is lost. */
  report(load: string): Promise<void> {
    return this.leases.reportTo(load).catch(() => this.leases.reportTo(load))
  }

  /** The book gets all that was delivered; of a dead worker, all that is in its journal. */
  async book(): Promise<void> {
    this.bookedSeq = this.isDead ? this.written.length : this.written.length - this.leases.endings.length
  }

  /** It has died, and what its journal has is delivered; its leases are taken back. @param epoch in force */
  async replay(epoch: string): Promise<void> {
    const { model, scripts } = this
    const undelivered = this.undelivered
    this.isDead = true
    this.losing = undefined
    const calls = new ShardCalls(model.shard, { ...this.context, scripts: this.leaseScripts(true) })
    calls.resume(this.lastCall)
    calls.epoch = epoch
    if (undelivered.length > 0) await calls.deliver(undelivered, [])
    await scripts.of('closeOwner')([epochKey(model.shard), leasesKey(model.shard, this.owner)], [100])
  }

  private get undelivered(): readonly LeasedEnding[] {
    return this.isDead ? [] : this.written.slice(this.written.length - this.leases.endings.length)
  }

  private leaseScripts(ofSupervisor = false): LeaseScripts {
    const wrapped = (name: keyof LeaseScripts): Script => {
      return async (keys, args) => {
        if (this.isDead && !ofSupervisor) throw new LostError()
        this.calling++
        this.lastCall = Number(args[1])
        const lost = this.losing
        this.losing = undefined
        try {
          if (lost === 'late') this.late.push(() => this.scripts.of(name)(keys, args))
          if (lost === 'call' || lost === 'late') throw new LostError()
          const reply = await this.scripts.of(name)(keys, args)
          if (name === 'lease' && (reply as unknown[])[0] === 0) this.model.leaseCalls++
          if (lost === 'answer') throw new LostError()
          return reply
        } finally {
          this.calling--
        }
      }
    }
    const [lease, deliver] = [wrapped('lease'), wrapped('deliver')]
    return { lease, deliver, syncLeases: wrapped('syncLeases'), reportLeases: wrapped('reportLeases') }
  }
}

class LostError extends Error {}
