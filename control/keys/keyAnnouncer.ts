import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { Loop } from '../admission/loop.ts'
import { publishKeyChanged } from '../bus/feed.ts'
import { limits } from '../contract/limits.ts'
import { intArray } from '../db/arrays.ts'
import type { Pool } from '../db/pool.ts'

interface ChangeRow {
  seq: number
  hash: string
}

/**
 * Tells the proxies of every change of a key that is in the book's outbox. Whoever makes a change announces it himself
 * after the commit, which is faster; this is for those who died in between, or could not reach Redis. Told twice, a
 * proxy asks for the key once more.
 */
export class KeyAnnouncer {
  readonly #pool: Pool
  readonly #redis: Redis
  readonly #loop: Loop

  constructor(options: { pool: Pool; redis: Redis; log: Logger }) {
    this.#pool = options.pool
    this.#redis = options.redis
    this.#loop = new Loop('changes of keys', limits.keyChangePollMs, options.log, () => this.#pass())
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async #pass(): Promise<void> {
    const found = await this.#pool.query<ChangeRow>('SELECT seq, hash FROM key_changes ORDER BY seq LIMIT $1', [
      limits.keyChangesBatchMax,
    ])
    if (found.rows.length === 0) return
    await Promise.all(
      [...new Set(found.rows.map(({ hash }) => hash))].map((hash) => publishKeyChanged(this.#redis, hash)),
    )
    // Only what was read: a transaction that took its number earlier may commit later.
    await this.#pool.query('DELETE FROM key_changes WHERE seq = ANY ($1::bigint[])', [
      intArray(found.rows.map(({ seq }) => seq)),
    ])
    if (found.rows.length === limits.keyChangesBatchMax) this.#loop.wake()
  }
}
