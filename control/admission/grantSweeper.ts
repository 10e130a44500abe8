import type { Logger } from 'pino'
import type { Redis } from '../../contract/wire/redis.ts'
import { accountKey, ledgerStream, shardOf } from '../../contract/wire/redisKeys.ts'
import { defineScript, type Script } from '../../contract/wire/scripts.ts'
import type { Limits } from '../limits.ts'
import { tryLock } from '../runtime/db/locks.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { Loop } from '../runtime/loop.ts'
import { redisNowMs } from '../runtime/redisClock.ts'

interface OpenGrant {
  readonly grant_id: string
  readonly account_id: string
  readonly balance: number
}

/**
 * Takes what is left of expired grants off the accounts, and grants with nothing left out of the admission state.
 * Runs under the admission lock: a loading from the book must not bring back what is being swept.
 */
export class GrantSweeper {
  private readonly redis: Redis
  private readonly pool: Pool
  private readonly sweep: Script
  private readonly loop: Loop
  private readonly limits: Limits

  constructor(options: { redis: Redis; pool: Pool; log: Logger; limits: Limits }) {
    this.limits = options.limits
    this.redis = options.redis
    this.pool = options.pool
    this.sweep = defineScript(options.redis, 'sweepGrant')
    this.loop = new Loop('expired grants', options.limits.grantSweepMs, options.log, async (signal) => {
      if (options.redis.status === 'ready') await tryLock(options.pool, 'admission', () => this.pass(signal))
    })
  }

  /** Sweeps at once. */
  wake(): void {
    this.loop.wake()
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async pass(signal: AbortSignal): Promise<void> {
    const nowMs = await redisNowMs(this.redis)
    const page = this.limits.admissionEventsBatchMax
    for (let after = ''; !signal.aborted; ) {
      const found = await this.pool.query<OpenGrant>(
        `SELECT o.grant_id, o.account_id, l.balance
         FROM open_grants o JOIN ledger_accounts l ON l.id = 'grant:' || o.grant_id
         WHERE o.grant_id > $1 AND (l.balance = 0 OR o.expires_at_ms <= $2) ORDER BY o.grant_id LIMIT $3`,
        [after, nowMs, page],
      )
      for (const grant of found.rows) await this.sweepGrant(grant)
      if (found.rows.length < page) return
      after = found.rows.at(-1)?.grant_id ?? after
    }
  }

  private async sweepGrant({ grant_id, account_id, balance }: OpenGrant): Promise<void> {
    const shard = shardOf(account_id)
    const account = accountKey(shard, account_id)
    // With nothing of it in the book, nothing of it is held either, so it can go for good.
    const mode = balance > 0 ? 'expire' : 'drop'
    await this.sweep([account, ledgerStream(shard)], [mode, grant_id, account_id])
    if (mode === 'expire') return
    const listed = String((await this.redis.hget(account, 'g')) ?? '')
    if (listed.split(';').some((grant) => grant.startsWith(`${grant_id},`))) return
    await this.pool.query('DELETE FROM open_grants WHERE grant_id = $1', [grant_id])
  }
}
