// Goal: after a loss of Redis, or the end of an owner, exactly what is needed is out in leases.
// Method: reportLeases.lua and closeOwner.lua on a real Redis, over accounts that no book knows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Redis } from '../../../contract/wire/redis.ts'
import { epochKey, leasesKey, loadGuardKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { defineScript, LeaseCode, type Script } from '../../../contract/wire/scripts.ts'
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

const KEPT_SECONDS = 100

let redis: Redis
let owner: LeaseOwner
let closeOwner: Script
eachWithOwner((parts) => {
  redis = parts.redis
  owner = parts.owner
  closeOwner = defineScript(redis, 'closeOwner')
})

const close = (shard: number, { owner: id } = owner) =>
  closeOwner([epochKey(shard), leasesKey(shard, id)], [KEPT_SECONDS])

test('a report while admission is open replaces the leased amounts by the needed ones', async () => {
  const { accountId, shard } = await leasedAccount(redis, owner)
  await owner.deliver(shard, [endingOf(accountId, 50)], [{ accountId, charged: { coin: 50 } }])
  await openShards(redis)
  const out = { coin: 120, grants: { grt_a: 10 } }
  assert.equal(await owner.report(shard, [{ accountId, out }], { bookedSeq: 7 }), LeaseCode.OK)
  assert.deepEqual(await accountState(redis, accountId), { coin: 830, grants: { grt_a: 90 }, out: 130 })
  assert.deepEqual(await spentBy(redis, accountId), everywhere(180))
  await owner.open()
  owner.seqs.set(shard, 7)
  const synced = await owner.sync(shard)
  assert.deepEqual([synced.delivered, synced.leases.size], [7, 1])
  assert.equal(
    (await owner.deliver(shard, [endingOf(accountId, 120)], [{ accountId, charged: { coin: 120 } }])).delivered,
    8,
  )
  assert.deepEqual(await accountState(redis, accountId), { coin: 830, grants: { grt_a: 90 }, out: 10 })
})

test('more leases than one command of Redis has room for are reported, delivered and given back', async () => {
  const count = 2_500
  const accountId = await plainAccount(redis, { coin: count })
  const shard = shardOf(accountId)
  const leases = Array.from({ length: count }, (_, i) => ({ accountId, keyId: `key_${i}` }))
  const reported = leases.map((lease) => ({ ...lease, out: { coin: 1 } }))
  assert.equal(await owner.report(shard, reported), LeaseCode.OK)
  assert.equal(Object.keys(await owner.leases(shard)).length, count)
  assert.deepEqual(await accountState(redis, accountId), { coin: 0, grants: {}, out: count })
  await owner.open()
  for (let from = 0; from < count; from += 500) {
    const returned = leases.slice(from, from + 500).map((lease) => ({ ...lease, returned: { coin: 1 } }))
    assert.equal((await owner.deliver(shard, [], returned)).code, LeaseCode.OK)
  }
  assert.deepEqual(await owner.leases(shard), {})
  assert.deepEqual(await accountState(redis, accountId), { coin: count, grants: {}, out: 0 })
})

test('reported amounts are taken from the free balance, which may become negative, and count for platform keys', async () => {
  const accountId = await plainAccount(redis, { coin: 30, grants: [{ id: 'grt_a', units: 5 }] })
  const shard = shardOf(accountId)
  const lease = { accountId, keyId: 'key_s', platformKeyId: 'key_p', out: { coin: 50, grants: { grt_a: 10 } } }
  assert.equal(await owner.report(shard, [lease]), LeaseCode.OK)
  assert.deepEqual(await accountState(redis, accountId), { coin: -20, grants: { grt_a: -5 }, out: 60 })
  assert.deepEqual(await spentBy(redis, accountId, 'key_s'), everywhere(60))
  assert.deepEqual(await spentBy(redis, accountId, 'key_p'), everywhere(60))
  assert.equal(await close(shard).then(String), '0,60')
  assert.deepEqual(await accountState(redis, accountId), { coin: 30, grants: { grt_a: 5 }, out: 0 })
  assert.deepEqual(await spentBy(redis, accountId, 'key_p'), everywhere(0))
})

test('a report during loading writes only the leases, with the windows of the hours in their names', async () => {
  const accountId = await plainAccount(redis, { coin: 1_000 })
  const shard = shardOf(accountId)
  const lease = { accountId, field: 'L:key:5119', out: { coin: 40, grants: { grt_a: 2 } } }
  assert.equal(await owner.report(shard, [lease], { load: 5 }), LeaseCode.STALE, 'admission is open')
  await closeShards(redis)
  await redis.set(loadGuardKey(shard), 5)
  assert.equal(await owner.report(shard, [lease]), LeaseCode.CLOSED)
  assert.equal(await owner.report(shard, [lease], { load: 4 }), LeaseCode.STALE)
  assert.equal(await owner.report(shard, [lease], { load: 5, bookedSeq: 3 }), LeaseCode.OK)
  assert.deepEqual(await accountState(redis, accountId), { coin: 1_000, grants: {}, out: 0 })
  assert.deepEqual(await spentBy(redis, accountId), everywhere(0))
  assert.deepEqual(await owner.leases(shard), {
    'L:key:5119': `${accountId}|${keyOf(accountId)}|v2:5119|40|grt_a=2`,
  })
  assert.deepEqual(await redis.hmget(leasesKey(shard, owner.owner), 'seq', 'load'), ['3', '5'])
})

test('reported amounts count in their windows that have not passed', async () => {
  const accountId = await plainAccount(redis, { coin: 1_000 })
  const shard = shardOf(accountId)
  const lease = { accountId, out: { coin: 40 } }
  const earlier = { ...lease, field: `L:${keyOf(accountId)}:1` }
  assert.equal(await owner.report(shard, [lease, earlier]), LeaseCode.OK)
  assert.deepEqual(await spentBy(redis, accountId), { hour: 40, day: 40, month: 40, life: 80 })
  await close(shard)
  assert.deepEqual(await spentBy(redis, accountId), everywhere(0))
})

test('an abandoned report has no effect when it arrives late', async () => {
  const { accountId, shard } = await leasedAccount(redis, owner)
  const lost = ++owner.op
  assert.equal(await owner.report(shard, [{ accountId, out: { coin: 20 } }]), LeaseCode.OK)
  await owner.open()
  await owner.leaseOne({ accountId, want: 100 })
  const out = (await accountState(redis, accountId)).out
  assert.equal(await owner.report(shard, [{ accountId, out: { coin: 300 } }], { op: lost }), LeaseCode.STALE)
  assert.equal((await accountState(redis, accountId)).out, out)
})

test('the leases of a dead owner are taken back, once, with their windows and grants', async () => {
  const { accountId, shard } = await leasedAccount(redis, owner)
  const platform = { keyId: 'key_of_platform', caps: NO_CAPS }
  await owner.leaseOne({ accountId, keyId: 'key_sub', want: 200, platform })
  const other = new LeaseOwner(redis)
  await other.open()
  await other.leaseOne({ accountId, want: 100 })
  assert.equal(String(await close(shard)), '0,600')
  assert.deepEqual(await accountState(redis, accountId), { coin: 900, grants: { grt_a: 100 }, out: 100 })
  assert.deepEqual(await spentBy(redis, accountId), everywhere(100))
  assert.deepEqual(await spentBy(redis, accountId, 'key_sub'), everywhere(0))
  assert.deepEqual(await spentBy(redis, accountId, platform.keyId), everywhere(0))
  assert.equal(String(await close(shard)), '0,0')
  const ttl = await redis.ttl(leasesKey(shard, owner.owner))
  assert.ok(ttl > 0 && ttl <= KEPT_SECONDS)
  const strange = new LeaseOwner(redis)
  assert.equal(String(await close(shard, strange)), '0,0')
  assert.equal(await redis.exists(leasesKey(shard, strange.owner)), 0)
})

test('an owner that was declared dead is notified, reports, and delivers its endings', async () => {
  const { accountId, shard } = await leasedAccount(redis, owner)
  await owner.deliver(shard, [endingOf(accountId, 10)], [{ accountId, charged: { coin: 10 } }])
  await close(shard)
  const late = { accountId, charged: { coin: 30 } }
  assert.deepEqual(await owner.deliver(shard, [endingOf(accountId, 30)], [late]), {
    code: LeaseCode.OWNER_CLOSED,
    delivered: 1,
  })
  assert.equal((await owner.lease([{ accountId, want: 1 }]))[0], LeaseCode.OWNER_CLOSED)
  assert.equal((await owner.sync(shard)).code, LeaseCode.OWNER_CLOSED)
  assert.equal(await owner.report(shard, [], { bookedSeq: 1 }), LeaseCode.OK)
  assert.equal(await redis.ttl(leasesKey(shard, owner.owner)), -1)
  assert.deepEqual(await owner.deliver(shard, [endingOf(accountId, 30)], [late]), { code: LeaseCode.OK, delivered: 2 })
  assert.deepEqual(await accountState(redis, accountId), { coin: 960, grants: { grt_a: 100 }, out: 0 })
  assert.deepEqual(await spentBy(redis, accountId), everywhere(40))
})

test('while admission is closed, no lease is taken back', async () => {
  const { accountId, shard } = await leasedAccount(redis, owner)
  await closeShards(redis)
  assert.equal(String(await close(shard)), '9,0')
  assert.equal((await accountState(redis, accountId)).out, 400)
  assert.equal(Object.keys(await owner.leases(shard)).length, 1)
})
