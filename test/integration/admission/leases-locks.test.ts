// Goal: tokens of a lock are leased to who asks for their series, in whole micro-tokens and within caps, and to nobody else.
// Method: lease.lua and hold.lua on a real Redis, over accounts that no book knows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_CAPS } from '../../../contract/money/windows.ts'
import { capArguments } from '../../../contract/wire/caps.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { HoldCode } from '../../../contract/wire/scripts.ts'
import { keyOf, LeaseOwner } from '../../support/parts/leaseOwner.ts'
import { eachWithOwner } from '../../support/parts/leaseRedis.ts'
import { accountState, endingOf, everywhere, plainAccount, spentBy } from '../../support/parts/leaseState.ts'

const SERIES = 'lock_01M84JCS2RKAGFGKBQAA87S72K'
const OTHER = 'lock_01M84JCS2RKAGFGKBQAA87S72M'
const LOCK = `${SERIES},1000`

let redis: Redis
let owner: LeaseOwner
eachWithOwner((parts) => {
  redis = parts.redis
  owner = parts.owner
})

const holder = (units: number, coin = 500) =>
  plainAccount(redis, {
    coin,
    grants: [
      { id: SERIES, units },
      { id: OTHER, units: 7_000 },
    ],
  })

test('a request for a series leases its tokens, as many as there are, and no coin', async () => {
  const accountId = await holder(5_000)
  const leased = await owner.leaseOne({ accountId, want: 3_000, least: 0, waiting: 0, lock: LOCK })
  assert.deepEqual([leased.code, leased.units, leased.coin, leased.permits], [HoldCode.OK, 3_000, 0, 0])
  assert.deepEqual(
    leased.grants.map(({ id, units }) => [id, units]),
    [[SERIES, 3_000]],
  )
  const rest = await owner.leaseOne({ accountId, want: 9_000, least: 0, waiting: 0, lock: LOCK })
  assert.deepEqual([rest.code, rest.units], [HoldCode.OK, 2_000])
  const none = await owner.leaseOne({ accountId, want: 1_000, least: 0, waiting: 0, lock: LOCK })
  assert.deepEqual([none.code, none.units], [HoldCode.OK, 0])
  const left = { coin: 500, grants: { [SERIES]: 0, [OTHER]: 7_000 }, out: 5_000 }
  assert.deepEqual(await accountState(redis, accountId), left)
  assert.deepEqual(await spentBy(redis, accountId), everywhere(5_000))
})

test('a request without a series leases only coin and grants, bounded by the balance', async () => {
  const accountId = await holder(5_000)
  const refused = await owner.leaseOne({ accountId, want: 501 })
  assert.deepEqual([refused.code, refused.units], [HoldCode.BALANCE, 500])
  assert.equal((await owner.leaseOne({ accountId, want: 500 })).coin, 500)
  const left = { coin: 0, grants: { [SERIES]: 5_000, [OTHER]: 7_000 }, out: 500 }
  assert.deepEqual(await accountState(redis, accountId), left)
})

test('caps bound the tokens to whole micro-tokens', async () => {
  const accountId = await holder(5_000)
  const caps = capArguments({ ...NO_CAPS, life: 2_999 })
  const leased = await owner.leaseOne({ accountId, want: 4_000, least: 0, waiting: 0, lock: LOCK, caps })
  assert.deepEqual([leased.code, leased.units], [HoldCode.OK, 2_000])
})

test('a request for tokens alone needs permits but no balance', async () => {
  const accountId = await holder(5_000, -3)
  const served = await owner.leaseOne({ accountId, want: 0, least: 0 })
  assert.deepEqual([served.code, served.units, served.permits], [HoldCode.OK, 0, 1])
  assert.equal((await owner.leaseOne({ accountId, want: 1 })).code, HoldCode.BALANCE)
})

test('burnt tokens are removed, and returned tokens are free again in their series', async () => {
  const accountId = await holder(5_000)
  await owner.leaseOne({ accountId, want: 3_000, least: 0, waiting: 0, lock: LOCK })
  const [charged, returned] = [{ grants: { [SERIES]: 1_000 } }, { grants: { [SERIES]: 2_000 } }]
  const ending = endingOf(accountId, 1_000, `${SERIES}=1000`)
  await owner.deliver(shardOf(accountId), [ending], [{ accountId, charged, returned }])
  const left = { coin: 500, grants: { [SERIES]: 4_000, [OTHER]: 7_000 }, out: 0 }
  assert.deepEqual(await accountState(redis, accountId), left)
  assert.deepEqual(await spentBy(redis, accountId, keyOf(accountId)), everywhere(1_000))
})
