// Goal: endings reach the stream once and in order, charges leave what is out, and what is returned is free again.
// Method: deliver.lua and syncLeases.lua on a real Redis, over accounts that no book knows.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bySpan, WINDOW, type Window } from '../../../contract/money/windows.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { type Redis } from '../../../contract/wire/redis.ts'
import {
  accountKey,
  debitsKey,
  epochKey,
  keyCountersKey,
  leasesKey,
  ledgerStream,
  shardOf,
} from '../../../contract/wire/redisKeys.ts'
import { defineScript, LeaseCode } from '../../../contract/wire/scripts.ts'
import { listLeases, outOf, unitsOf } from '../../../control/admission/leaseRecord.ts'
import { keyOf, LeaseOwner, NO_CAPS } from '../../support/parts/leaseOwner.ts'
import { eachWithOwner, leasedAccount } from '../../support/parts/leaseRedis.ts'
import {
  accountState,
  closeShards,
  endingOf,
  everywhere,
  openShards,
  plainAccount,
  spentBy,
} from '../../support/parts/leaseState.ts'
import { TestProxy } from '../../support/parts/ledger.ts'

let redis: Redis
let owner: LeaseOwner
eachWithOwner((parts) => {
  redis = parts.redis
  owner = parts.owner
})

async function batches(shard: number): Promise<sluice.EndingBatch[]> {
  const entries = (await redis.callBuffer('XRANGE', [ledgerStream(shard), '-', '+'])) as [Buffer, Buffer[]][]
  return entries.map(([, [name, batch]]) => {
    assert.equal(String(name), 'b')
    return sluice.EndingBatch.decode(batch ?? Buffer.alloc(0))
  })
}

test('charged units are removed; returned units are free again, in their pot and windows', async () => {
  const { accountId, shard } = await leasedAccount(redis, owner)
  const endings = [endingOf(accountId, 60, 'grt_a=60'), endingOf(accountId, 20)]
  const change = {
    accountId,
    charged: { coin: 20, grants: { grt_a: 60 } },
    returned: { coin: 130, grants: { grt_a: 40 } },
  }
  assert.deepEqual(await owner.deliver(shard, endings, [change]), { code: LeaseCode.OK, delivered: 2 })
  assert.deepEqual(await accountState(redis, accountId), { coin: 830, grants: { grt_a: 40 }, out: 150 })
  assert.deepEqual(await spentBy(redis, accountId), everywhere(230))
  assert.match(Object.values(await owner.leases(shard)).join(), /\|150\|$/)
  const [batch, ...others] = (await batches(shard)).filter((found) => found.owner === owner.owner)
  assert.deepEqual([batch?.owner, batch?.from, batch?.endings.length, others.length], [owner.owner, 1, 2, 0])
  assert.deepEqual(
    batch?.endings.map((ending) => ending.split),
    ['grt_a=60', 'coin=20'],
  )
  // The rest goes back without an ending, and the lease with it.
  await owner.deliver(shard, [], [{ accountId, returned: { coin: 150 } }])
  assert.deepEqual(await accountState(redis, accountId), { coin: 980, grants: { grt_a: 40 }, out: 0 })
  assert.deepEqual(await spentBy(redis, accountId), everywhere(80))
  assert.deepEqual(await owner.leases(shard), {})
})

test('several leases of a shard in one call, with their platform keys', async () => {
  const { accountId, shard } = await leasedAccount(redis, owner)
  const other = await plainAccount(redis, { coin: 1_000, shard })
  const platform = { keyId: 'key_of_a_platform', caps: NO_CAPS }
  await owner.leaseOne({ accountId: other, keyId: 'key_sub', want: 500, platform })
  await owner.deliver(
    shard,
    [endingOf(accountId, 10), endingOf(other, 200)],
    [
      { accountId, charged: { coin: 10 } },
      {
        accountId: other,
        keyId: 'key_sub',
        platformKeyId: platform.keyId,
        charged: { coin: 200 },
        returned: { coin: 100 },
      },
    ],
  )
  assert.deepEqual(await accountState(redis, accountId), { coin: 700, grants: { grt_a: 0 }, out: 390 })
  assert.deepEqual(await accountState(redis, other), { coin: 600, grants: {}, out: 200 })
  assert.deepEqual(await spentBy(redis, other, 'key_sub'), everywhere(400))
  assert.deepEqual(await spentBy(redis, other, platform.keyId), everywhere(400))
})

test('endings are accepted once and in order', async () => {
  const { accountId, shard } = await leasedAccount(redis, owner)
  const change = { accountId, charged: { coin: 10 } }
  const early = await owner.deliver(shard, [endingOf(accountId, 10)], [change], { from: 2 })
  assert.deepEqual(early, { code: LeaseCode.STALE, delivered: 0 })
  assert.deepEqual(await owner.deliver(shard, [endingOf(accountId, 10)], [change], { from: 1 }), {
    code: 0,
    delivered: 1,
  })
  const again = await owner.deliver(shard, [endingOf(accountId, 10)], [change], { from: 1 })
  assert.deepEqual(again, { code: LeaseCode.STALE, delivered: 1 })
  const late = await owner.deliver(shard, [endingOf(accountId, 10)], [change], { from: 2, op: 2 })
  assert.deepEqual(late, { code: LeaseCode.STALE, delivered: 1 })
  assert.deepEqual(await accountState(redis, accountId), { coin: 700, grants: { grt_a: 0 }, out: 390 })
  assert.equal((await batches(shard)).filter((batch) => batch.owner === owner.owner).length, 1)
})

/** Whether the window of an hour is not that of the hour after it. */
const hasPassed = (window: Window, hour: number): boolean =>
  WINDOW[window].numberOf(hour) !== WINDOW[window].numberOf(hour + 1)

test('units of a past hour do not change the current windows', async () => {
  const { accountId, shard } = await leasedAccount(redis, owner)
  const field = await owner.fieldNow({ accountId })
  const [, key = '', hour] = field.split(':')
  const before = Number(hour) - 1
  const text = ((await owner.leases(shard))[field] ?? '').replace(`|v2:${hour}|`, `|v2:${before}|`)
  const earlier = `L:${key}:${before}`
  await redis.hset(leasesKey(shard, owner.owner), earlier, text)
  await redis.hdel(leasesKey(shard, owner.owner), field)
  await owner.deliver(shard, [], [{ accountId, field: earlier, returned: { coin: 300 } }])
  assert.deepEqual(
    await spentBy(redis, accountId),
    bySpan((span) => (span !== 'life' && hasPassed(span, before) ? 400 : 100)),
  )
  assert.deepEqual(await accountState(redis, accountId), { coin: 1_000, grants: { grt_a: 0 }, out: 100 })
})

test('a late ending counts in the windows of its hold that have not passed, as in the book', async () => {
  const accountId = await plainAccount(redis, { coin: 1_000 })
  const shard = shardOf(accountId)
  const hourNow = Number((await owner.fieldNow({ accountId })).split(':')[2])
  const monthsAgo = `L:${keyOf(accountId)}:${hourNow - 24 * 40}`
  await owner.deliver(shard, [], [{ accountId, field: monthsAgo, charged: { coin: 30 } }])
  assert.deepEqual(await spentBy(redis, accountId), { hour: 0, day: 0, month: 0, life: 30 })
  await owner.deliver(shard, [], [{ accountId, charged: { coin: 5 } }])
  assert.deepEqual(await spentBy(redis, accountId), { hour: 5, day: 5, month: 5, life: 35 })
})

test('an ending of a released lease is charged to the free balance, which may become negative', async () => {
  const accountId = await plainAccount(redis, { coin: 50, grants: [{ id: 'grt_a', units: 20 }] })
  const shard = shardOf(accountId)
  const charged = { coin: 70, grants: { grt_a: 30 } }
  assert.equal((await owner.deliver(shard, [endingOf(accountId, 100)], [{ accountId, charged }])).code, LeaseCode.OK)
  assert.deepEqual(await accountState(redis, accountId), { coin: -20, grants: { grt_a: -10 }, out: 0 })
  assert.deepEqual(await spentBy(redis, accountId), everywhere(100))
  assert.deepEqual(await owner.leases(shard), {})
  const refused = await owner.leaseOne({ accountId, want: 1 })
  assert.deepEqual([refused.code, refused.units], [1, 0])
})

test('a grant charged beyond its amount stays overdrawn until the book corrects it', async () => {
  const expiresAtMs = Date.now() - 1_000
  const accountId = await plainAccount(redis, { coin: 0, grants: [{ id: 'grt_a', units: -10, expiresAtMs }] })
  const [account, shard] = [accountKey(shardOf(accountId), accountId), shardOf(accountId)]
  const later = Date.now() + 100_000
  await defineScript(redis, 'credit')([account, debitsKey(shard)], [2, 50, 'grt_b', later, 30, ''])
  assert.equal(
    await defineScript(redis, 'sweepGrant')([account, ledgerStream(shard)], ['expire', 'grt_a', accountId]),
    -1,
  )
  const proxy = new TestProxy(redis)
  await proxy.serve(accountId, 20, 25)
  assert.deepEqual(await accountState(redis, accountId), { coin: 50, grants: { grt_a: -10, grt_b: 10 }, out: 0 })
})

test('a charge beyond the leased amount takes the rest from the free balance, and no unit is returned twice', async () => {
  const { accountId, shard } = await leasedAccount(redis, owner)
  await owner.deliver(
    shard,
    [endingOf(accountId, 350)],
    [{ accountId, charged: { coin: 350 }, returned: { coin: 100 } }],
  )
  assert.deepEqual(await accountState(redis, accountId), { coin: 650, grants: { grt_a: 0 }, out: 100 })
  assert.deepEqual(await spentBy(redis, accountId), everywhere(450))
  await owner.deliver(shard, [], [{ accountId, returned: { coin: 77, grants: { grt_a: 500, grt_b: 5 } } }])
  assert.deepEqual(await accountState(redis, accountId), { coin: 650, grants: { grt_a: 100 }, out: 0 })
})

test('permits that were used on a lease that rests are taken from the rate when it is delivered', async () => {
  const accountId = await plainAccount(redis, { coin: 1_000 })
  const [shard, rate] = [shardOf(accountId), '100000000,10']
  await owner.leaseOne({ accountId, want: 7, waiting: 7, rate })
  const owed = () => owner.deliver(shard, [], [{ accountId, permits: '-1,100000000,10' }])
  assert.equal((await owed()).permitsLeft, '2')
  assert.equal((await owner.leaseOne({ accountId, want: 5, waiting: 5, rate })).permits, 2)
  assert.equal((await owed()).permitsLeft, '0')
  // A rate that was not used for long has no more than its burst: the permit is taken from now on.
  await redis.hset(keyCountersKey(shard, keyOf(accountId)), 'tat', 1)
  assert.equal((await owed()).permitsLeft, '9')
  assert.equal((await owner.leaseOne({ accountId, want: 20, least: 1, waiting: 20, rate })).permits, 9)
})

const LEFT = { coin: 20, grants: { grt_a: 60 } }

/** An account of which 300 of coin and 100 of a grant are leased, of which `LEFT` is charged and not settled. */
async function unsettledAccount(): Promise<{ accountId: string; shard: number; field: string }> {
  const { accountId, shard } = await leasedAccount(redis, owner)
  const field = await owner.fieldNow({ accountId })
  const unsettled = new Map([[field, LEFT]])
  const endings = [endingOf(accountId, 80, 'grt_a=60,coin=20')]
  assert.equal((await owner.deliver(shard, endings, [], { unsettled })).code, LeaseCode.OK)
  assert.deepEqual(await accountState(redis, accountId), { coin: 700, grants: { grt_a: 0 }, out: 400 })
  return { accountId, shard, field }
}

describe('charges that are not settled', () => {
  test('are taken off with the next charge and return of their lease', async () => {
    const { accountId, shard } = await unsettledAccount()
    const change = { accountId, charged: { coin: 5, grants: { grt_a: 10 } }, returned: { coin: 100 } }
    await owner.deliver(shard, [endingOf(accountId, 15, 'grt_a=10,coin=5')], [change])
    assert.deepEqual(await accountState(redis, accountId), { coin: 800, grants: { grt_a: 0 }, out: 205 })
    assert.match(Object.values(await owner.leases(shard)).join(), /\|175\|grt_a=30$/)
    assert.equal((await owner.unsettled(shard)).size, 0)
    assert.deepEqual(await spentBy(redis, accountId), everywhere(300))
  })

  test('are not given back with the leases of an owner that is gone, whose endings may still follow', async () => {
    const { accountId, shard } = await unsettledAccount()
    const closeOwner = defineScript(redis, 'closeOwner')
    const closed = await closeOwner([epochKey(shard), leasesKey(shard, owner.owner)], [100])
    assert.deepEqual(closed, [0, 320])
    assert.deepEqual(await accountState(redis, accountId), { coin: 980, grants: { grt_a: 40 }, out: 0 })
    assert.deepEqual(await spentBy(redis, accountId), everywhere(80))
    assert.equal((await owner.unsettled(shard)).size, 0)
  })

  test('are free of the lease that an owner reports while admission is open', async () => {
    const { accountId, shard } = await unsettledAccount()
    assert.equal(await owner.report(shard, [{ accountId, out: { coin: 30 } }]), LeaseCode.OK)
    assert.deepEqual(await accountState(redis, accountId), { coin: 950, grants: { grt_a: 40 }, out: 30 })
    assert.deepEqual(await spentBy(redis, accountId), everywhere(110))
  })

  test('are what the audit and a loading have beside the lease', async () => {
    const { accountId, shard, field } = await unsettledAccount()
    const key = { key: leasesKey(shard, owner.owner), shard, owner: owner.owner }
    const [lease] = (await listLeases(redis, [key])).filter((one) => one.accountId === accountId)
    assert.deepEqual([lease?.field, lease?.coinNanos, lease?.grants], [field, 280, [{ grantId: 'grt_a', units: 40 }]])
    assert.deepEqual(lease && [unitsOf(lease), outOf(lease)], [320, 400])
  })
})

test('unused permits are returned to the rate limit', async () => {
  const accountId = await plainAccount(redis, { coin: 1_000 })
  const shard = shardOf(accountId)
  const rate = '100000000,10'
  assert.equal((await owner.leaseOne({ accountId, want: 10, waiting: 10, rate })).permits, 10)
  assert.equal((await owner.leaseOne({ accountId, want: 1, rate })).permits, 0)
  await owner.deliver(shard, [], [{ accountId, permits: '3,100000000' }])
  assert.equal((await owner.leaseOne({ accountId, want: 5, waiting: 5, rate })).permits, 3)
  // A key without a counter of its rate has nothing to give back to.
  const other = await plainAccount(redis, { coin: 10, shard })
  assert.equal((await owner.deliver(shard, [], [{ accountId: other, permits: '3,100000000' }])).code, LeaseCode.OK)
  assert.equal(await redis.hexists(keyCountersKey(shard, keyOf(other)), 'tat'), 0)
})

test('while admission is closed, or open with another epoch, deliveries are rejected', async () => {
  const { accountId, shard } = await leasedAccount(redis, owner)
  const deliver = () => owner.deliver(shard, [endingOf(accountId, 5)], [{ accountId, charged: { coin: 5 } }])
  await closeShards(redis)
  assert.deepEqual(await deliver(), { code: LeaseCode.CLOSED, delivered: 0 })
  await openShards(redis)
  assert.deepEqual(await deliver(), { code: LeaseCode.UNKNOWN_EPOCH, delivered: 0 })
  assert.equal((await accountState(redis, accountId)).out, 400)
  await owner.open()
  assert.deepEqual(await deliver(), { code: LeaseCode.OK, delivered: 1 })
})

test('after a lost response, the owner gets its leased amounts, and the lost call has no further effect', async () => {
  const { accountId, shard } = await leasedAccount(redis, owner)
  const lost = owner.op + 1
  const synced = await owner.sync(shard, lost + 1)
  assert.deepEqual([synced.code, synced.delivered, synced.leases.size], [LeaseCode.OK, 0, 1])
  assert.match([...synced.leases.values()].join(), /\|300\|grt_a=100$/)
  const [code] = await owner.lease([{ accountId, want: 10 }], { op: lost })
  assert.equal(code, LeaseCode.STALE)
  const late = await owner.deliver(shard, [endingOf(accountId, 5)], [{ accountId, charged: { coin: 5 } }], { op: lost })
  assert.deepEqual(late, { code: LeaseCode.STALE, delivered: 0 })
  assert.equal((await owner.sync(shard, lost)).code, LeaseCode.STALE)
  owner.op = lost + 1
  // One that was not lost is told as well.
  await owner.deliver(shard, [endingOf(accountId, 5)], [{ accountId, charged: { coin: 5 } }])
  const after = await owner.sync(shard)
  assert.deepEqual(
    [after.delivered, after.leases.get(await owner.fieldNow({ accountId }))?.endsWith('|295|grt_a=100')],
    [1, true],
  )
})
