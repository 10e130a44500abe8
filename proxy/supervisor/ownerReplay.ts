import { setTimeout as sleep } from 'node:timers/promises'
import { sluice } from '../../contract/wire/generated/messages.js'
import { decodeHoldMeta } from '../../contract/wire/holdMeta.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { epochKey, leasesKey, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { LeaseCode, type Script } from '../../contract/wire/scripts.ts'
import type { JournalContent } from '../admission/journal/readJournal.ts'
import type { EndingRecord, OpeningRecord } from '../admission/journal/records.ts'
import type { LeasedEnding } from '../admission/leases/batch.ts'
import { leasedEnding } from '../admission/leases/leasedEnding.ts'
import { keyIdOf } from '../admission/leases/leaseName.ts'
import { type CallContext, ShardCalls } from '../admission/leases/shardCalls.ts'
import { NO_PARTS, parseSplit, unitsOf } from '../admission/parts.ts'
import { settlementOf } from '../admission/settlementText.ts'
import type { SupervisorLimits } from './limits.ts'

/** Calls that a process had under way when it ended have smaller numbers than it had made plus this. */
const CALLS_UNDER_WAY = 1_000
const DURATION_MS_MAX = 2 ** 31 - 1

export interface OwnerReplayOptions {
  readonly owner: string
  readonly redis: Redis
  readonly scripts: CallContext['scripts']
  readonly closeOwner: Script
  readonly limits: SupervisorLimits
  /** How far the owner's endings are booked, by shard. @throws while control does not know or does not answer */
  readonly booked: () => Promise<ReadonlyMap<number, number>>
  /**
   * Voids the single holds that the owner has. @returns the number that could not be voided now. @throws while control does
   * not know or does not answer
   */
  readonly voidHolds: () => Promise<number>
  /** Adds endings to the journal, so that the next replay finds them there. @throws the error of the file system */
  readonly keep: (endings: readonly EndingRecord[]) => Promise<void>
  /** Aborted when the process stops. */
  readonly signal: AbortSignal
}

/**
 * Delivers the journal of a process that is gone: the endings in it, and requests that were still open as `orphaned`, which
 * costs nothing. It is idempotent and can be restarted from the beginning at any time: each ending keeps its number.
 */
export class OwnerReplay {
  private readonly options: OwnerReplayOptions

  constructor(options: OwnerReplayOptions) {
    this.options = options
  }

  /**
   * Resolves once the book has everything and the owner's leases and holds are given back.
   * @throws errors of Redis, of the file system and of calls to control, or when the process stops; to be repeated with the
   *   journal as it is then
   */
  async run({ open, endings }: JournalContent): Promise<void> {
    await this.book(endings)
    const orphans = await this.numbered(open)
    if (open.length > 0) {
      // Before any of them is delivered: the next replay must not give an ending another number.
      await this.options.keep([...orphans.values()].flat())
      await this.book(orphans)
    }
    await this.close()
    // The ends of the holds that it still has are unknown.
    const left = await this.options.voidHolds()
    if (left > 0) throw new Error(`${left} holds of ${this.options.owner} could not be voided yet`)
  }

  /** Resolves once the book has all of these endings. */
  private async book(records: ReadonlyMap<number, readonly EndingRecord[]>): Promise<void> {
    const { limits, signal } = this.options
    const endings = new Map([...records].map(([shard, own]) => [shard, own.map(leasedEnding)]))
    for (;;) {
      const booked = await this.options.booked()
      const left = [...endings].filter(([shard, own]) => (own.at(-1)?.seq ?? 0) > (booked.get(shard) ?? 0))
      for (const [shard, own] of left) await this.deliver(shard, own, booked.get(shard) ?? 0)
      if (left.length === 0) break
      await sleep(limits.replayPollMs, undefined, { signal })
    }
  }

  /**
   * Endings of requests that were open, by shard. Their numbers follow all that the book or Redis has of the owner: the
   * endings of the journal are booked by now, and those trimmed from it were before.
   */
  private async numbered(open: readonly OpeningRecord[]): Promise<Map<number, EndingRecord[]>> {
    const byShard = new Map<number, EndingRecord[]>()
    if (open.length === 0) return byShard
    const { redis, owner } = this.options
    const [booked, nowMs] = [await this.options.booked(), Date.now()]
    for (const opening of open) {
      const { shard } = opening
      const own = byShard.get(shard) ?? []
      byShard.set(shard, own)
      const before =
        own.at(-1)?.seq ??
        Math.max(booked.get(shard) ?? 0, Number((await redis.hget(leasesKey(shard, owner), 'seq')) ?? 0))
      own.push(orphan(opening, before + 1, nowMs))
    }
    return byShard
  }

  private async deliver(shard: number, endings: readonly LeasedEnding[], bookedSeq: number): Promise<void> {
    const { redis, owner, limits } = this.options
    const calls = new ShardCalls(shard, { ...this.options, answered: () => {}, serverChanges: () => 0 })
    calls.resume(Number((await redis.hget(leasesKey(shard, owner), 'op')) ?? 0) + CALLS_UNDER_WAY)
    calls.epoch = (await redis.get(epochKey(shard))) ?? ''
    let deliveredSeq = await this.deliveredSeq(calls, bookedSeq)
    while (deliveredSeq !== undefined) {
      const after: number = deliveredSeq
      const batch = behind(endings, after).slice(0, limits.leaseDeliverBatchMax)
      if (batch.length === 0) return
      const done = await calls.deliver(batch, [])
      if (done.code !== LeaseCode.OK) return
      deliveredSeq = batch.at(-1)?.seq
    }
  }

  /** @returns the last ending that Redis has; undefined while it takes none */
  private async deliveredSeq(calls: ShardCalls, bookedSeq: number): Promise<number | undefined> {
    const known = await calls.sync()
    if (known.code === LeaseCode.OK && known.deliveredSeq >= bookedSeq) return known.deliveredSeq
    if (known.code === LeaseCode.CLOSED) return undefined
    // Redis has lost the owner, or its leases were given back: its charges are taken from the free balance.
    const reported = await calls.report('', bookedSeq, [])
    return reported.code === LeaseCode.OK ? bookedSeq : undefined
  }

  private async close(): Promise<void> {
    const { closeOwner, owner, limits } = this.options
    const keptSeconds = Math.ceil(limits.ownerKeptMs / 1_000)
    for (let shard = 0; shard < SHARD_COUNT; shard++) {
      const [code] = (await closeOwner([epochKey(shard), leasesKey(shard, owner)], [keptSeconds])) as [number, number]
      if (code !== LeaseCode.OK) throw new Error(`admission is closed; the leases of ${owner} are given back later`)
    }
  }
}

/**
 * The endings after a number, without gaps. A number is missing when neither memory nor disk took its ending, although they
 * took later ones: the ending after it fills the gap as well; it is charged once, and the book takes it once.
 */
function behind(endings: readonly LeasedEnding[], after: number): LeasedEnding[] {
  const whole: LeasedEnding[] = []
  for (const ending of endings) {
    for (let seq = after + whole.length + 1; seq < ending.seq; seq++) whole.push({ ...ending, seq, charged: NO_PARTS })
    if (ending.seq > after) whole.push(ending)
  }
  return whole
}

/** The ending of a request that was open: it is voided. */
function orphan(opening: OpeningRecord, seq: number, nowMs: number): EndingRecord {
  const { requestId, accountId, keys, heldAtMs, split, holdMeta } = opening
  const settlement = sluice.Settlement.encode({
    requestId,
    accountId,
    keyId: keyIdOf({ keys }),
    ...decodeHoldMeta(holdMeta),
    status: sluice.Status.ORPHANED,
    holdUnits: unitsOf(parseSplit(split)),
    startedAtMs: heldAtMs,
    durationMs: Math.min(Math.max(nowMs - heldAtMs, 0), DURATION_MS_MAX),
  }).finish()
  return { ...opening, kind: 'ending', seq, voided: true, split: '', settlement: settlementOf(settlement) }
}
