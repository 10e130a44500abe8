import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { Logger } from 'pino'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import { logEvent, logRepeat } from '../../runtime/logEvents.ts'
import type { BookLimits } from '../limits.ts'
import { bookBatch } from './bookBatch.ts'
import type { Booked } from './bookEntries.ts'
import { BookedShards } from './bookedShards.ts'
import type { Entry } from './entry.ts'
import { Lanes } from './lanes.ts'
import { entriesOf, inParts, type OpenEntry, openEntry, sizeOf } from './openEntry.ts'
import { ReadSize } from './readSize.ts'
import { claimIdle, ensureGroups, forgetDeadConsumers, leaveGroup, readGroup, removeEntries } from './streamReader.ts'
import { SettlementTally } from './tally.ts'

export interface SettlementOptions {
  readonly redisUrl: string
  readonly pool: Pool
  readonly log: Logger
  /** Name within the consumer group, unique among the running controls. */
  readonly consumer: string
  /** Called for every batch after its commit. */
  readonly onBooked?: (booked: Booked) => void
  readonly limits: BookLimits
}

/** Pending entries of each stream that one read takes up again after a crash. */
const PENDING_COUNT = 64
const DEAD_CONSUMER_MS = 3_600_000
/** Endings that are parsed before answers of the database that have arrived meanwhile are processed. */
const PARSED_AT_ONCE = 64

class Stopped extends Error {}

/**
 * Moves ended requests from the ledger streams into the book until it is stopped. Several controls share the shards, and
 * each books several of its shards concurrently.
 */
export class SettlementConsumer {
  readonly tally: SettlementTally
  private readonly options: SettlementOptions
  /** Reads block, so they have their own connection. */
  private readonly reader: Redis
  private readonly commands: Redis
  private readonly done: Promise<void>
  private readonly lanes: Lanes
  /** The shards that this control books. */
  readonly leases: BookedShards
  private stopping = new AbortController()
  private readonly size: ReadSize
  private claimAtMs = 0

  constructor(options: SettlementOptions) {
    this.options = options
    this.tally = new SettlementTally(options.log, options.limits)
    this.lanes = new Lanes(options.limits.settlementLanes)
    this.leases = new BookedShards(options.pool, options.consumer, options.limits)
    this.size = new ReadSize(options.limits.settlementReadMin, options.limits.settlementReadMax)
    this.reader = connectRedis(options.redisUrl, 'wait')
    this.commands = connectRedis(options.redisUrl, 'wait')
    for (const connection of [this.reader, this.commands]) {
      connection.on('error', (error) => logRepeat(options.log, 'settlement_redis_connection_failed', { err: error }))
    }
    this.done = this.run()
  }

  /** Finishes the batch in hand and leaves. Entries not booked yet stay in their streams. */
  async stop(): Promise<void> {
    this.stopping.abort()
    const deadline = setTimeout(() => this.disconnect(), this.options.limits.shutdownTimeoutMs)
    await this.done
    clearTimeout(deadline)
    this.disconnect()
  }

  private disconnect(): void {
    this.reader.disconnect()
    this.commands.disconnect()
  }

  private get stopped(): boolean {
    return this.stopping.signal.aborted
  }

  private async run(): Promise<void> {
    const { log, consumer } = this.options
    while (!this.stopped) {
      try {
        await ensureGroups(this.commands)
        await forgetDeadConsumers(this.commands, DEAD_CONSUMER_MS)
        await this.bookPending()
        await this.follow()
      } catch (error) {
        await this.lanes.drain().catch((cause: unknown) => logEvent(log, 'settlement_batch_failed', { err: cause }))
        if (this.stopped) break
        this.tally.stats.retries++
        logRepeat(log, 'settlement_read_failed', { err: error })
        await this.pause(this.options.limits.settlementRetryMs)
      }
    }
    await this.leases.leave().catch((error: unknown) => {
      logEvent(log, 'settlement_shards_release_failed', { err: error })
    })
    if (this.commands.status !== 'ready') return
    await leaveGroup(this.commands, consumer).catch((error: unknown) => {
      logEvent(log, 'settlement_group_leave_failed', { err: error })
    })
  }

  /** Entries given to this consumer before a crash, or before Redis or an acknowledgement failed. */
  private async bookPending(): Promise<void> {
    for (;;) {
      const pending = await readGroup(this.reader, this.options.consumer, '0', { countPerStream: PENDING_COUNT })
      if (pending.length === 0 || this.stopped) return
      await this.book(pending.map(openEntry))
      // Unacknowledged entries would be read again.
      await this.lanes.drain()
    }
  }

  private async follow(): Promise<void> {
    let ahead: Promise<OpenEntry[]> | undefined
    const { settlementBlockMs, settlementBatchMax, settlementGatherMs } = this.options.limits
    while (!this.stopped) {
      if (ahead === undefined && this.leases.isDue) await this.renewLeases()
      if (ahead === undefined && this.leases.shards.length === 0) {
        await this.pause(settlementBlockMs)
        continue
      }
      const entries = await (ahead ?? this.read(settlementBlockMs))
      // With a backlog the next entries are read while these are being booked; otherwise waiting makes larger batches.
      ahead = sizeOf(entries) >= settlementBatchMax && !this.leases.isDue ? this.read(0) : undefined
      ahead?.catch(() => {})
      await this.book(entries)
      await this.claim()
      if (ahead !== undefined) continue
      await this.lanes.drain()
      // A transaction costs much the same for one entry as for hundreds, so the next entries get time to accumulate.
      await this.pause(settlementGatherMs)
    }
    if (ahead !== undefined) await this.book(await ahead)
    await this.lanes.drain()
  }

  private async read(blockMs: number): Promise<OpenEntry[]> {
    const entries = await this.readOnce(blockMs)
    let more = this.size.note(entries)
    while (more && sizeOf(entries) < this.options.limits.settlementBatchMax) {
      const next = await this.readOnce(0)
      more = this.size.note(next)
      entries.push(...next)
    }
    return entries
  }

  private async readOnce(blockMs: number): Promise<OpenEntry[]> {
    const { reader, options, size, leases } = this
    const raws = await readGroup(reader, options.consumer, '>', {
      countPerStream: size.countPerStream,
      blockMs,
      shards: leases.shards,
    })
    return raws.map(openEntry)
  }

  /** Takes over the shards that others leave, and gives up surplus shards once all of their entries in hand are booked. */
  private async renewLeases(): Promise<void> {
    const { taken, surplus } = await this.leases.renew()
    if (surplus.length > 0) {
      await this.lanes.drain()
      await this.leases.giveBack(surplus)
    }
    // The previous consumers of these shards are gone, so their pending entries are claimed.
    const claimed = taken.filter((shard) => !surplus.includes(shard))
    if (claimed.length === 0) return
    logEvent(this.options.log, 'settlement_shards_taken', { shards: claimed })
    await this.claimFrom(claimed, 0)
  }

  private async claim(): Promise<void> {
    if (performance.now() < this.claimAtMs) return
    this.claimAtMs = performance.now() + this.options.limits.settlementClaimIdleMs
    await this.claimFrom(this.leases.shards, this.options.limits.settlementClaimIdleMs)
  }

  private async claimFrom(shards: readonly number[], idleMs: number): Promise<void> {
    // Entries that this consumer is still booking are not idle.
    await this.lanes.drain()
    for (;;) {
      const claimed = await claimIdle(this.commands, this.options.consumer, idleMs, PENDING_COUNT, shards)
      if (claimed.length === 0 || this.stopped) return
      await this.book(claimed.map(openEntry))
      await this.lanes.drain()
    }
  }

  /** Begins to book entries; while batches are being booked, the next are read, those before are removed. */
  private async book(entries: readonly OpenEntry[]): Promise<void> {
    const { settlementBatchMax, settlementDivideMin } = this.options.limits
    if (sizeOf(entries) >= settlementDivideMin) return this.bookDivided(entries)
    // A batch with any shards runs after the batches of all lanes.
    await this.lanes.booked()
    for (const part of inParts(entries, settlementBatchMax)) await this.bookIn(0, part)
  }

  /** Books the shards of each lane in parallel to those of the others. */
  private async bookDivided(entries: readonly OpenEntry[]): Promise<void> {
    const ofLanes = Array.from({ length: this.lanes.count }, (): OpenEntry[] => [])
    for (const entry of entries) ofLanes[entry.raw.shard % ofLanes.length]?.push(entry)
    const parts = ofLanes.map((own) => inParts(own, this.options.limits.settlementBatchMax))
    const rounds = Math.max(...parts.map((own) => own.length))
    for (let round = 0; round < rounds; round++) {
      for (const [lane, own] of parts.entries()) {
        const part = own[round]
        if (part !== undefined) await this.bookIn(lane, part)
      }
    }
  }

  private async bookIn(lane: number, part: readonly OpenEntry[]): Promise<void> {
    const parsed = await parsedInTurns(part)
    const [raws, { pool, limits }] = [part.map((entry) => entry.raw), this.options]
    await this.lanes.begin(lane, {
      book: async () => {
        if (parsed.length > 0) this.count(await this.untilBooked(() => bookBatch(pool, parsed)))
      },
      remove: () => removeEntries(this.commands, raws, limits),
    })
  }

  /** Retries until the database has committed it: an entry must not be acknowledged before. */
  private async untilBooked(book: () => Promise<Booked>): Promise<Booked> {
    for (;;) {
      try {
        return await book()
      } catch (error) {
        this.tally.stats.retries++
        logEvent(this.options.log, 'settlement_write_failed', { err: error })
        await this.pause(this.options.limits.settlementRetryMs)
        if (this.stopped) throw new Stopped('stopped before the batch was booked')
      }
    }
  }

  private count(booked: Booked): void {
    this.tally.note(booked)
    this.options.onBooked?.(booked)
  }

  /** Sleeps, or until it is stopped. */
  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.stopping.signal }).catch(() => {})
  }
}

/** Parses entries without keeping the database waiting, which books the batch before them. */
async function parsedInTurns(entries: readonly OpenEntry[]): Promise<Entry[]> {
  const parsed: Entry[] = []
  let parsedBefore = 0
  for (const entry of entries) {
    if (parsed.length - parsedBefore >= PARSED_AT_ONCE) {
      parsedBefore = parsed.length
      await turn()
    }
    parsed.push(...entriesOf(entry))
  }
  return parsed
}
