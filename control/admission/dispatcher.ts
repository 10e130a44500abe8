import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Redis } from '../../contract/wire/redis.ts'
import { accountKey, debitsKey, shardOf } from '../../contract/wire/redisKeys.ts'
import { defineScript, type Script } from '../../contract/wire/scripts.ts'
import { removeAdmissionEvents } from '../book/ledger/appendAdmissionEvent.ts'
import { markDirty } from '../book/settlement/dirtyShards.ts'
import { textArray } from '../runtime/db/arrays.ts'
import { camelColumns } from '../runtime/db/columns.ts'
import { tryLock } from '../runtime/db/locks.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { logEvent } from '../runtime/logEvents.ts'
import { Loop } from '../runtime/loop.ts'
import type { AdmissionLimits } from './limits.ts'

const APPLY_POLL_MS = 5

interface EventRow {
  readonly accountId: string
  readonly seq: number
  readonly coinDelta: number
  readonly grantId: string | null
  readonly grantExpiresAtMs: number | null
  readonly grantUnits: number | null
  readonly debitId: string | null
}

const EVENTS = `SELECT ${camelColumns('account_id, seq, coin_delta, grant_id, grant_expires_at_ms, grant_units, debit_id')}
  FROM admission_events ORDER BY account_id, seq LIMIT $1`

/** Applies the events of the book's outbox to the admission state, in order by account, each exactly once. */
export class EventDispatcher {
  private readonly pool: Pool
  private readonly log: Logger
  private readonly credit: Script
  private readonly loop: Loop
  private readonly limits: AdmissionLimits

  constructor(options: { pool: Pool; redis: Redis; log: Logger; limits: AdmissionLimits }) {
    this.limits = options.limits
    this.pool = options.pool
    this.log = options.log
    this.credit = defineScript(options.redis, 'credit')
    // Woken by commits of this process; the interval finds those of other processes.
    this.loop = new Loop('admission events', options.limits.admissionPollMs, options.log, () => this.pass())
  }

  /** To be called after a transaction that wrote events has committed. */
  wake(): void {
    this.loop.wake()
  }

  /**
   * Applies the events of these accounts now, so that newly booked amounts can be spent.
   * @returns false when they were not applied within limits.admissionApplyMs; they are applied later then
   */
  async applyNow(accountIds: readonly string[]): Promise<boolean> {
    const deadlineMs = performance.now() + this.limits.admissionApplyMs
    for (;;) {
      this.wake()
      await sleep(APPLY_POLL_MS)
      const waiting = await this.pool.query(
        'SELECT 1 FROM admission_events WHERE account_id = ANY ($1::text[]) LIMIT 1',
        [textArray(accountIds)],
      )
      if (waiting.rowCount === 0) return true
      if (performance.now() > deadlineMs) return false
    }
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async pass(): Promise<void> {
    const waiting = await this.pool.query({
      name: 'admission_events_waiting',
      text: 'SELECT 1 FROM admission_events LIMIT 1',
    })
    if (waiting.rowCount === 0) return
    const applied = await tryLock(this.pool, 'admission', () => this.applyBatch())
    if (applied === this.limits.admissionEventsBatchMax) this.wake()
  }

  /** @returns how many events were applied */
  private async applyBatch(): Promise<number> {
    const found = await this.pool.query<EventRow>(EVENTS, [this.limits.admissionEventsBatchMax])
    const byAccount = new Map<string, EventRow[]>()
    for (const event of found.rows) {
      const events = byAccount.get(event.accountId)
      if (events === undefined) byAccount.set(event.accountId, [event])
      else events.push(event)
    }
    // A node of Redis that does not answer for its accounts keeps no other from its coin.
    const tried = await Promise.allSettled([...byAccount.values()].map((events) => this.applyInOrder(events)))
    const applied = tried.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
    await removeAdmissionEvents(this.pool, applied)
    const failed = tried.find((one) => one.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    return applied.length
  }

  private async applyInOrder(events: readonly EventRow[]): Promise<EventRow[]> {
    const applied: EventRow[] = []
    for (const event of events) {
      const shard = shardOf(event.accountId)
      const grant = [event.grantId ?? '', event.grantExpiresAtMs ?? '', event.grantUnits ?? '']
      const result = await this.credit(
        [accountKey(shard, event.accountId), debitsKey(shard)],
        [event.seq, event.coinDelta, ...grant, event.debitId ?? ''],
      )
      if (result === -1) {
        // Redis is missing earlier events of this account. Loading its shard from the book applies this one as well.
        logEvent(this.log, 'admission_event_lost', { account: event.accountId, seq: event.seq })
        await markDirty(this.pool, [shard], 'missing event')
        break
      }
      applied.push(event)
    }
    return applied
  }
}
