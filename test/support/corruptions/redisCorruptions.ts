import { newId } from '../../../contract/wire/ids.ts'
import {
  accountKey,
  epochKey,
  keyCountersKey,
  leasesKey,
  ledgerStream,
  shardOf,
} from '../../../contract/wire/redisKeys.ts'
import { TestProxy } from '../parts/ledger.ts'
import type { Corrupted, Corruption } from './corruption.ts'

const BALANCES = 'admission balances equal the book'
const COUNTERS = 'admission key counters equal the book'
const OPEN = 'admission is open with one epoch'
const accountOf = ({ accountId }: Corrupted): string => accountKey(shardOf(accountId), accountId)
const countersOf = (accountId: string, keyId: string): string => keyCountersKey(shardOf(accountId), keyId)
const leasesOf = ({ accountId }: Corrupted, owner: string): string => leasesKey(shardOf(accountId), owner)

/** Of the admission state. */
export const REDIS_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'coin one higher in Redis',
    outside: (book) => book.redis.hincrby(accountOf(book), 'coin', 1),
    found: BALANCES,
  },
  { name: 'an account that Redis does not have', outside: (book) => book.redis.del(accountOf(book)), found: BALANCES },
  {
    name: 'a grant that expires later in Redis',
    async outside(book) {
      const grants = String(await book.redis.hget(accountOf(book), 'g'))
      const later = grants.replace(/,(\d+),/, (_, end) => `,${Number(end) + 1000},`)
      await book.redis.hset(accountOf(book), 'g', later)
    },
    found: BALANCES,
  },
  {
    name: 'counters of a key lowered',
    outside: ({ redis, accountId, keyId }) => redis.hincrby(countersOf(accountId, keyId), 'bs', -1),
    found: COUNTERS,
  },
  {
    name: 'counters of a key that was never charged',
    outside: ({ redis, otherId, otherKeyId }) => redis.hset(countersOf(otherId, otherKeyId), 'bs', '5000'),
    found: COUNTERS,
  },
  {
    name: 'a lease of an owner that is unknown',
    async outside(book) {
      const { redis, accountId, keyId } = book
      const hour = Math.floor(Date.now() / 3_600_000)
      const day = Math.floor(hour / 24)
      await redis.hset(
        leasesOf(book, 'own_gone'),
        `L:${accountId}:${keyId}`,
        `${accountId}|${keyId}|${hour}|${day}|1|700:700|`,
      )
    },
    found: 'every lease has a living owner',
  },
  {
    name: 'a number of delivered endings that is too high',
    outside: (book) => book.redis.hincrby(leasesOf(book, book.proxyOwner), 'seq', 3),
    found: 'every ending that was delivered is booked or waits',
  },
  {
    name: 'a settlement that fell out of its stream',
    async outside({ redis, accountId, keyId, proxyOwner }) {
      const proxy = new TestProxy(redis, proxyOwner)
      const requestId = newId('req')
      await proxy.hold(accountId, requestId, 100, 100, { keyId })
      await proxy.settle(accountId, requestId, 60, 100, { keyId })
      const [last] = await redis.xrevrange(ledgerStream(shardOf(accountId)), '+', '-', 'COUNT', 1)
      await redis.xdel(ledgerStream(shardOf(accountId)), last?.[0] ?? '')
    },
    found: BALANCES,
  },
  {
    name: 'a hold of a proxy that is unknown',
    async outside({ redis, accountId, keyId }) {
      await new TestProxy(redis, 'own_gone').hold(accountId, newId('req'), 100, 100, { keyId })
    },
    found: 'every hold has a living owner',
  },
  {
    name: 'a shard with another epoch',
    outside: ({ redis, accountId }) => redis.set(epochKey(shardOf(accountId)), 'other'),
    found: OPEN,
  },
]
