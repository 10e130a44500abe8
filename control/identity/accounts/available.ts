import type { Redis } from '../../../contract/wire/redis.ts'
import { accountKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { endRests } from '../../admission/endRests.ts'
import { isLockId } from '../../book/ledger/accounts.ts'
import { redisNowMs } from '../../runtime/redisClock.ts'

/** The amounts that requests may hold at this moment, by the admission state. */
export interface Available {
  /** Integer of 1e-9 coin; may be below zero. */
  readonly coinNanos: number
  /** Of grants that have not expired. */
  readonly creditUnits: readonly number[]
}

/**
 * The free amounts of an account, those of leases that rest included; undefined while admission does not know it. See
 * contract/lua/README.md for the fields.
 */
export async function availableOf(redis: Redis, accountId: string): Promise<Available | undefined> {
  await endRests(redis, accountId)
  const [[coin, grants], nowMs] = await Promise.all([
    redis.hmget(accountKey(shardOf(accountId), accountId), 'coin', 'g'),
    redisNowMs(redis),
  ])
  return coin === null || coin === undefined ? undefined : readAvailable(coin, grants ?? null, nowMs)
}

/** The same by the fields of the account in Redis. */
export function readAvailable(coin: string, grants: string | null, nowMs: number): Available {
  const creditUnits = (grants ?? '').split(';').flatMap((grant) => {
    const [id = '', expiresAtMs, freeUnits] = grant.split(',')
    // Tokens of locks pay only for requests of their models.
    return freeUnits !== undefined && Number(expiresAtMs) > nowMs && !isLockId(id) ? [Number(freeUnits)] : []
  })
  return { coinNanos: Number(coin), creditUnits }
}
