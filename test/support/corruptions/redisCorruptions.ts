import { accountKey, keyCountersKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import type { Corrupted, Corruption } from './corruption.ts'

const BALANCES = 'admission balances equal the book'
const COUNTERS = 'admission key counters equal the book'
const accountOf = ({ accountId }: Corrupted): string => accountKey(shardOf(accountId), accountId)
const countersOf = (accountId: string, keyId: string): string => keyCountersKey(shardOf(accountId), keyId)

/** Of the admission state. */
export const REDIS_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'coin one higher in Redis',
    async redis(book) {
      await book.redis.hincrby(accountOf(book), 'coin', 1)
      return () => book.redis.hincrby(accountOf(book), 'coin', -1)
    },
    found: BALANCES,
  },
  {
    name: 'a grant that expires later in Redis',
    async redis(book) {
      const grants = String(await book.redis.hget(accountOf(book), 'g'))
      await book.redis.hset(
        accountOf(book),
        'g',
        grants.replace(/,(\d+),/, (_, end) => `,${Number(end) + 1000},`),
      )
      return () => book.redis.hset(accountOf(book), 'g', grants)
    },
    found: BALANCES,
  },
  {
    name: 'counters of a key lowered',
    async redis({ redis, accountId, keyId }) {
      await redis.hincrby(countersOf(accountId, keyId), 'bs', -1)
      return () => redis.hincrby(countersOf(accountId, keyId), 'bs', 1)
    },
    found: COUNTERS,
  },
  {
    name: 'counters of a key that was never charged',
    async redis({ redis, otherId, otherKeyId }) {
      await redis.hset(countersOf(otherId, otherKeyId), 'bs', '5000')
      return () => redis.del(countersOf(otherId, otherKeyId))
    },
    found: COUNTERS,
  },
]
