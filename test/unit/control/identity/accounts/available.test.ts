import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Redis } from '../../../../../contract/wire/redis.ts'
import { availableOf } from '../../../../../control/identity/accounts/available.ts'

const NOW_S = 1_000

/** A Redis in which every account has this. */
const redisWith = (coin: string | null, grants: string | null): Redis =>
  ({
    // Nothing is out, so that nothing rests.
    hget: () => Promise.resolve(null),
    hmget: () => Promise.resolve([coin, grants]),
    time: () => Promise.resolve([String(NOW_S), '0']),
  }) as unknown as Redis

test('credits that have not expired can be held, tokens of locks are not available balance', async () => {
  const later = NOW_S * 1_000 + 1
  const grants = `grt_1,${NOW_S * 1_000},5;grt_2,${later},7;lock_1,${later},1000;grt_3,${later},-2`
  assert.deepEqual(await availableOf(redisWith('-4', grants), 'acct_1'), { coinNanos: -4, creditUnits: [7, -2] })
})

test('an account without grants has only coin, and one unknown to admission has a zero balance', async () => {
  assert.deepEqual(await availableOf(redisWith('9', null), 'acct_1'), { coinNanos: 9, creditUnits: [] })
  assert.equal(await availableOf(redisWith(null, null), 'acct_1'), undefined)
})
