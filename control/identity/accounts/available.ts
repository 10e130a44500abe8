import type { Redis } from '../../../contract/wire/redis.ts'
import { accountKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { isLockId } from '../../book/ledger/accounts.ts'
import { redisNowMs } from '../../runtime/redisClock.ts'

/** The amounts that requests may hold at this moment, by the admission state. */
export interface Available {
  /** Integer of 1e-9 coin; may be below zero. */
  readonly coinNanos: number
  /** Of grants that have not expired. */
  readonly creditUnits: readonly number[]
}

/** The free amounts of an account; undefined while admission does not know it. See contract/lua/README.md for the fields. */
export async function availableOf(redis: Redis, accountId: string): Promise<Available | undefined> {
  const [[coin, grants], nowMs] = await Promise.all([
    redis.hmget(accountKey(shardOf(accountId), accountId), 'coin', 'g'),
    redisNowMs(redis),
  ])
  if (coin === null || coin === undefined) return undefined
  const creditUnits = (grants ?? '').split(';').flatMap((grant) => {
    const [id = '', expiresAtMs, freeUnits] = grant.split(',')
    // Tokens of locks pay only for requests of their models.
    return freeUnits !== undefined && Number(expiresAtMs) > nowMs && !isLockId(id) ? [Number(freeUnits)] : []
  })
  return { coinNanos: Number(coin), creditUnits }
}
