import type { Logger } from 'pino'
import type { Redis } from '../../contract/wire/redis.ts'
import { accountKey, ledgerStream, shardOf } from '../../contract/wire/redisKeys.ts'
import { defineScript, type Script } from '../../contract/wire/scripts.ts'
import { forgetGrant } from '../book/ledger/grantCredits.ts'
import { dropHolding } from '../book/ledger/openHolding.ts'
import { apart } from '../runtime/apart.ts'
import { tryLock } from '../runtime/db/locks.ts'
import type { Pool, Queryable } from '../runtime/db/pool.ts'
import { Loop } from '../runtime/loop.ts'
import { redisNowMs } from '../runtime/redisClock.ts'
import type { AdmissionLimits } from './limits.ts'

/** Finds the pots that may have to be removed, and forgets a removed one. */
interface Pots {
  /** SQL of OpenPots in the order of their ids: after the pot and the account $1 and $2, at the time $3, at most $4. */
  readonly page: string
  readonly forget: (db: Queryable, potId: string, accountId: string) => Promise<void>
}

const OPEN_GRANTS: Pots = {
  page: `
    SELECT o.grant_id AS pot_id, o.account_id, l.balance
    FROM open_grants o JOIN ledger_accounts l ON l.id = 'grant:' || o.grant_id
    WHERE (o.grant_id, o.account_id) > ($1, $2) AND (l.balance = 0 OR o.expires_at_ms <= $3)
    ORDER BY o.grant_id, o.account_id LIMIT $4`,
  forget: forgetGrant,
}

// Not before the end: until then, tokens of a series may be bought again.
const ENDED_HOLDINGS: Pots = {
  page: `
    SELECT h.series_id AS pot_id, h.account_id, l.balance
    FROM lock_holdings h JOIN lock_series s ON s.id = h.series_id
      JOIN ledger_accounts l ON l.id = 'lock:' || h.series_id || ':' || h.account_id
    WHERE NOT h.is_dropped AND s.state = 'ended' AND s.ends_at_ms <= $3 AND (h.series_id, h.account_id) > ($1, $2)
    ORDER BY h.series_id, h.account_id LIMIT $4`,
  forget: dropHolding,
}

/** A credit grant, or a holding of a series that has ended. */
interface OpenPot {
  readonly pot_id: string
  readonly account_id: string
  readonly balance: number
}

/**
 * Takes the rest of expired grants and of holdings of ended series off the accounts, and those with nothing left out of
 * the admission state.
 * Runs under the admission lock: a loading from the book must not bring back what is being swept.
 */
export class GrantSweeper {
  private readonly redis: Redis
  private readonly pool: Pool
  private readonly sweep: Script
  private readonly loop: Loop
  private readonly limits: AdmissionLimits

  constructor(options: { redis: Redis; pool: Pool; log: Logger; limits: AdmissionLimits }) {
    this.limits = options.limits
    this.redis = options.redis
    this.pool = options.pool
    this.sweep = defineScript(options.redis, 'sweepGrant')
    this.loop = new Loop('expired grants', options.limits.grantSweepMs, options.log, async (signal) => {
      if (options.redis.status === 'ready') await tryLock(options.pool, 'admission', () => this.pass(signal))
    })
  }

  /** Sweeps immediately. */
  wake(): void {
    this.loop.wake()
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async pass(signal: AbortSignal): Promise<void> {
    const nowMs = await redisNowMs(this.redis)
    await apart([OPEN_GRANTS, ENDED_HOLDINGS], ({ page, forget }) =>
      apart(this.pots(page, nowMs, signal), async (pot) => {
        if (await this.sweepPot(pot)) await forget(this.pool, pot.pot_id, pot.account_id)
      }),
    )
  }

  private async *pots(page: string, nowMs: number, signal: AbortSignal): AsyncGenerator<OpenPot> {
    const most = this.limits.admissionEventsBatchMax
    for (let after: readonly string[] = ['', '']; !signal.aborted; ) {
      const found = await this.pool.query<OpenPot>(page, [...after, nowMs, most])
      yield* found.rows
      const last = found.rows.at(-1)
      if (last === undefined || found.rows.length < most) return
      after = [last.pot_id, last.account_id]
    }
  }

  /** @returns whether it is out of the admission state for good */
  private async sweepPot({ pot_id, account_id, balance }: OpenPot): Promise<boolean> {
    const shard = shardOf(account_id)
    const account = accountKey(shard, account_id)
    // With a balance of zero in the book, nothing of it is held either, so it can be removed for good.
    const mode = balance > 0 ? 'expire' : 'drop'
    await this.sweep([account, ledgerStream(shard)], [mode, pot_id, account_id])
    if (mode === 'expire') return false
    const listed = String((await this.redis.hget(account, 'g')) ?? '')
    return !listed.split(';').some((pot) => pot.startsWith(`${pot_id},`))
  }
}
