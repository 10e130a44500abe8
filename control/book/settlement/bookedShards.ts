import { SHARD_COUNT } from '../../../contract/wire/redisKeys.ts'
import { intArray } from '../../runtime/db/arrays.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import type { BookLimits } from '../limits.ts'

/** The result of one renewal of the leases. */
export interface LeaseChange {
  /** Shards that this control has from now on and did not have before. */
  readonly taken: readonly number[]
  /** Shards to give back, because others have fewer, once none of their entries is in hand. */
  readonly surplus: readonly number[]
}

const LIVING = `seen_at > now() - $1 * interval '1 ms'`

/** Renews the heartbeat of a control; its shards, and how many other controls live. */
const BEAT = `
  WITH seen AS (
    INSERT INTO bookers (booker) VALUES ($2) ON CONFLICT (booker) DO UPDATE SET seen_at = excluded.seen_at)
  SELECT ARRAY(SELECT shard FROM booked_shards WHERE booker = $2) AS held,
    (SELECT count(*) FROM bookers WHERE booker <> $2 AND ${LIVING}) AS others`

const TAKE = `
  UPDATE booked_shards SET booker = $2 WHERE shard IN (
    SELECT shard FROM booked_shards s
    WHERE NOT EXISTS (SELECT FROM bookers b WHERE b.booker = s.booker AND ${LIVING})
    ORDER BY shard LIMIT $3 FOR UPDATE SKIP LOCKED)
  RETURNING shard`

/**
 * The shards that this control books while it lives. Controls share the shards evenly, so that no two of them wait for the
 * head of one log. Only speed depends on it: a shard that two controls book concurrently is still booked once.
 */
export class BookedShards {
  private readonly pool: Pool
  private readonly booker: string
  private readonly limits: BookLimits
  private held: readonly number[] = []
  private dueAtMs = 0

  /** @param booker name of this control, unique among the running ones */
  constructor(pool: Pool, booker: string, limits: BookLimits) {
    this.pool = pool
    this.booker = booker
    this.limits = limits
  }

  /** Ascending. */
  get shards(): readonly number[] {
    return this.held
  }

  /** Whether it is time to renew. */
  get isDue(): boolean {
    return performance.now() >= this.dueAtMs
  }

  /** Renews the heartbeat of this control, and takes its part of the shards that no live control has. */
  async renew(): Promise<LeaseChange> {
    const { held, taken, fair } = await this.beat()
    this.dueAtMs = performance.now() + this.limits.bookerBeatMs
    const known = new Set(this.held)
    this.held = [...held, ...taken].sort((a, b) => a - b)
    return { taken: this.held.filter((shard) => !known.has(shard)), surplus: this.held.slice(fair) }
  }

  /** Gives back shards of which no entry is in hand. */
  async giveBack(shards: readonly number[]): Promise<void> {
    const left = new Set(shards)
    this.held = this.held.filter((shard) => !left.has(shard))
    await this.pool.query(`UPDATE booked_shards SET booker = '' WHERE booker = $1 AND shard = ANY ($2::smallint[])`, [
      this.booker,
      intArray(shards),
    ])
  }

  /** Gives everything back. */
  async leave(): Promise<void> {
    this.held = []
    await this.pool.query('DELETE FROM bookers WHERE booker = $1', [this.booker])
  }

  private async beat(): Promise<{ held: readonly number[]; taken: readonly number[]; fair: number }> {
    const leaseMs = this.limits.bookerLeaseMs
    const found = await this.pool.query<{ held: number[]; others: number }>({
      name: 'booker_beat',
      text: BEAT,
      values: [leaseMs, this.booker],
    })
    const { held, others } = found.rows[0] ?? { held: [], others: 0 }
    const fair = Math.ceil(SHARD_COUNT / (others + 1))
    if (held.length >= fair) return { held, taken: [], fair }
    await this.pool.query(`DELETE FROM bookers WHERE NOT ${LIVING}`, [leaseMs])
    const taken = await this.pool.query<{ shard: number }>(TAKE, [leaseMs, this.booker, fair - held.length])
    return { held, taken: taken.rows.map(({ shard }) => shard), fair }
  }
}
