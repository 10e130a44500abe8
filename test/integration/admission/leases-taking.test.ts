// Goal: a lease takes what a hold would take, and no more: balance, grants before coin, caps, budget, rate, extra.
// Method: lease.lua on a real Redis, over accounts that no book knows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_CAPS, SPANS } from '../../../contract/money/windows.ts'
import { capArguments, capCode } from '../../../contract/wire/caps.ts'
import { type Redis } from '../../../contract/wire/redis.ts'
import { accountKey, keyCountersKey, ledgerStream, shardOf } from '../../../contract/wire/redisKeys.ts'
import { HoldCode, LeaseCode } from '../../../contract/wire/scripts.ts'
import { keyOf, LeaseOwner } from '../../support/parts/leaseOwner.ts'
import { eachWithOwner } from '../../support/parts/leaseRedis.ts'
import {
  accountState,
  closeShards,
  everywhere,
  openShards,
  plainAccount,
  spentBy,
} from '../../support/parts/leaseState.ts'

const SECOND_MICROS = 1_000_000

let redis: Redis
let owner: LeaseOwner
eachWithOwner((parts) => {
  redis = parts.redis
  owner = parts.owner
})

const hourNow = async (): Promise<number> => Math.floor(Number((await redis.time())[0]) / 3_600)

test('a lease moves units from free to leased, and counts them', async () => {
  const accountId = await plainAccount(redis, { coin: 1_000 })
  const leased = await owner.leaseOne({ accountId, want: 300 })
  assert.deepEqual(leased, {
    code: HoldCode.OK,
    units: 300,
    retryAfterMs: 0,
    permits: 1,
    coin: 300,
    grants: [],
    out: 300,
    mayRest: false,
  })
  assert.deepEqual(await accountState(redis, accountId), { coin: 700, grants: {}, out: 300 })
  assert.deepEqual(await spentBy(redis, accountId), everywhere(300))
  await owner.leaseOne({ accountId, want: 100 })
  const { [await owner.fieldNow({ accountId })]: text = '', ...others } = await owner.leases(shardOf(accountId))
  assert.deepEqual(others, {})
  assert.match(text, new RegExp(`^${accountId}\\|${keyOf(accountId)}\\|v2:${await hourNow()}\\|400\\|$`))
})

test('a balance that covers the minimum shrinks the lease; a smaller one is rejected with the amount left', async () => {
  const accountId = await plainAccount(redis, { coin: 100 })
  assert.equal((await owner.leaseOne({ accountId, want: 250, least: 80 })).units, 100)
  const refused = await owner.leaseOne({ accountId, want: 1 })
  assert.deepEqual([refused.code, refused.units, refused.out], [HoldCode.BALANCE, 0, 100])
  assert.equal((await owner.leaseOne({ accountId, want: 5, least: 0 })).code, HoldCode.OK)
  const other = await plainAccount(redis, { coin: 40 })
  const short = await owner.leaseOne({ accountId: other, want: 50 })
  assert.deepEqual([short.code, short.units], [HoldCode.BALANCE, 40])
  assert.deepEqual(await accountState(redis, other), { coin: 40, grants: {}, out: 0 })
  assert.deepEqual(await spentBy(redis, other), everywhere(0))
})

test('grants are leased before coin, soonest-expiring first, and expired or overdrawn ones never', async () => {
  const nowMs = Date.now()
  const grants = [
    { id: 'grt_past', units: 500, expiresAtMs: nowMs - 1_000 },
    { id: 'grt_over', units: -30, expiresAtMs: nowMs + 50_000 },
    { id: 'grt_first', units: 100, expiresAtMs: nowMs + 60_000 },
    { id: 'grt_second', units: 100, expiresAtMs: nowMs + 70_000 },
  ]
  const accountId = await plainAccount(redis, { coin: 1_000, grants })
  const first = await owner.leaseOne({ accountId, want: 150 })
  assert.deepEqual(first.grants, [
    { id: 'grt_first', expiresAtMs: nowMs + 60_000, units: 100 },
    { id: 'grt_second', expiresAtMs: nowMs + 70_000, units: 50 },
  ])
  assert.equal(first.coin, 0)
  // What is overdrawn is not free: 50 of the grant and 1,000 of coin, less 30.
  const rest = await owner.leaseOne({ accountId, want: 5_000, least: 1 })
  assert.deepEqual([rest.units, rest.coin], [1_020, 970])
  const left = { grt_past: 500, grt_over: -30, grt_first: 0, grt_second: 0 }
  assert.deepEqual(await accountState(redis, accountId), { coin: 30, grants: left, out: 1_170 })
  const text = (await owner.leases(shardOf(accountId)))[await owner.fieldNow({ accountId })]
  assert.match(text ?? '', /\|970\|grt_first=100,grt_second=100$/)
})

test('extra is at most a sixteenth of the remainder of the balance and of each cap', async () => {
  const accountId = await plainAccount(redis, { coin: 1_700 })
  assert.equal((await owner.leaseOne({ accountId, want: 100, extraUnits: 1_000 })).units, 200)
  assert.equal((await owner.leaseOne({ accountId, want: 100, extraUnits: 10 })).units, 110)
  const capped = await plainAccount(redis, { coin: 1_000_000 })
  assert.equal(
    (
      await owner.leaseOne({
        accountId: capped,
        want: 20,
        extraUnits: 1_000,
        caps: capArguments({ ...NO_CAPS, hour: 180 }),
      })
    ).units,
    30,
  )
  const poor = await plainAccount(redis, { coin: 100 })
  assert.equal((await owner.leaseOne({ accountId: poor, want: 100, extraUnits: 1_000 })).units, 100)
  assert.equal(
    (await owner.leaseOne({ accountId: await plainAccount(redis, { coin: 25 }), want: 10, extraUnits: 99 })).units,
    10,
  )
})

test('a lease rests with a thousandth of what is free and of what each cap leaves, as far as it is worth it', async () => {
  const caps = (hour: number) => capArguments({ ...NO_CAPS, hour })
  const rows = [
    { coin: 80_000, rest: { most: 70 }, units: 80 },
    { coin: 79_999, rest: { most: 70 }, units: 79 },
    { coin: 20_000, rest: { most: 70, least: 10 }, units: 20 },
    { coin: 19_999, rest: { most: 70, least: 10 }, units: 10 },
    { coin: 80_000, rest: { most: 70, least: 10, free: 9 }, units: 71 },
    { coin: 80_000, rest: { most: 70, least: 62, free: 9 }, units: 10 },
    { coin: 8_000_000, rest: { most: 70, least: 10 }, caps: caps(30_000), units: 30 },
    { coin: 8_000_000, rest: { most: 70, least: 10 }, caps: caps(19_999), units: 10 },
    { coin: 8_000_000, rest: { most: 0 }, units: 10 },
  ]
  for (const { coin, rest, units, ...more } of rows) {
    const accountId = await plainAccount(redis, { coin })
    const leased = await owner.leaseOne({ accountId, want: 10, rest, ...more })
    const text = JSON.stringify({ coin, rest, ...more })
    assert.deepEqual([leased.units, leased.mayRest, leased.out], [units, units > 10, units], text)
    assert.deepEqual(await accountState(redis, accountId), { coin: coin - units, grants: {}, out: units }, text)
  }
  const platform = { keyId: 'key_platform', caps: caps(30_000) }
  const accountId = await plainAccount(redis, { coin: 8_000_000 })
  const sub = await owner.leaseOne({ accountId, want: 10, rest: { most: 70, least: 10 }, platform })
  assert.deepEqual([sub.units, sub.mayRest], [30, true])
})

test('no further lease begins to rest while a quarter of the account is out', async () => {
  const accountId = await plainAccount(redis, { coin: 1_000_000 })
  const rest = { most: 70, least: 10 }
  await owner.leaseOne({ accountId, want: 200_000 })
  assert.equal((await owner.leaseOne({ accountId, keyId: 'key_a', want: 10, rest })).mayRest, false)
  await redis.hincrby(accountKey(shardOf(accountId), accountId), 'coin', 500)
  assert.equal((await owner.leaseOne({ accountId, keyId: 'key_a', want: 10, rest })).mayRest, true)
})

test('each cap and the budget of a key bound its leases; a rejection names the cap and the amount left', async () => {
  for (const span of SPANS) {
    const [code, caps] = [capCode({ span, isPlatforms: false }), capArguments({ ...NO_CAPS, [span]: 100 })]
    const accountId = await plainAccount(redis, { coin: 1_000 })
    assert.equal((await owner.leaseOne({ accountId, want: 70, caps })).units, 70)
    const refused = await owner.leaseOne({ accountId, want: 31, caps })
    assert.deepEqual([refused.code, refused.units], [code, 30])
    assert.equal((await owner.leaseOne({ accountId, want: 31, least: 30, caps })).units, 30)
    assert.deepEqual((await owner.leaseOne({ accountId, want: 1, caps })).code, code)
    assert.deepEqual(await accountState(redis, accountId), { coin: 900, grants: {}, out: 100 })
  }
})

test('the cap of a past hour is full again; the lifetime budget is not', async () => {
  const accountId = await plainAccount(redis, { coin: 1_000 })
  const past = { hw: 1, hs: 90, dw: 1, ds: 90, mw: 1, ms: 90, bs: 90 }
  await redis.hset(keyCountersKey(shardOf(accountId), keyOf(accountId)), past)
  assert.equal(
    (await owner.leaseOne({ accountId, want: 80, caps: capArguments({ hour: 100, day: 100, month: 100, life: null }) }))
      .units,
    80,
  )
  assert.equal(
    (await owner.leaseOne({ accountId, want: 11, caps: capArguments({ ...NO_CAPS, life: 180 }) })).code,
    capCode({ span: 'life', isPlatforms: false }),
  )
  assert.deepEqual(await spentBy(redis, accountId), { hour: 80, day: 80, month: 80, life: 170 })
})

test('the caps of a platform key apply to all its sub-keys, and are named first', async () => {
  const accountId = await plainAccount(redis, { coin: 10_000 })
  const platform = { keyId: 'key_platform', caps: capArguments({ ...NO_CAPS, hour: 100 }) }
  const [, results] = await owner.lease([
    { accountId, keyId: 'key_plain', want: 1_000 },
    { accountId, keyId: 'key_sub1', want: 60, platform },
    { accountId, keyId: 'key_plain', want: 1_000 },
    { accountId, keyId: 'key_sub2', want: 60, caps: capArguments({ ...NO_CAPS, hour: 10 }), platform },
    { accountId, keyId: 'key_sub2', want: 60, least: 1, platform },
  ])
  assert.deepEqual(
    results.map(({ code, units }) => [code, units]),
    [
      [HoldCode.OK, 1_000],
      [HoldCode.OK, 60],
      [HoldCode.OK, 1_000],
      [capCode({ span: 'hour', isPlatforms: true }), 40],
      [HoldCode.OK, 40],
    ],
  )
  assert.deepEqual(await spentBy(redis, accountId, 'key_platform'), everywhere(100))
  assert.deepEqual(await spentBy(redis, accountId, 'key_sub1'), everywhere(60))
  assert.deepEqual(await spentBy(redis, accountId, 'key_sub2'), everywhere(40))
  const leases = Object.values(await owner.leases(shardOf(accountId))).join(' ')
  assert.match(leases, /\|key_sub1\/key_platform\|/)
  for (const span of SPANS.slice(1)) {
    const [code, caps] = [capCode({ span, isPlatforms: true }), capArguments({ ...NO_CAPS, [span]: 100 })]
    const refused = await owner.leaseOne({ accountId, keyId: 'key_sub1', want: 1, platform: { ...platform, caps } })
    assert.deepEqual([refused.code, refused.units], [code, 0])
  }
})

test('permits of a rate limit: waiting requests first, then a quarter of the rest; a rejection also uses permits', async () => {
  const accountId = await plainAccount(redis, { coin: 1_000 })
  const rate = `${SECOND_MICROS * 100},10`
  const first = await owner.leaseOne({ accountId, want: 2, waiting: 2, extraPermits: 100, rate })
  assert.deepEqual([first.code, first.permits], [HoldCode.OK, 4])
  const more = await owner.leaseOne({ accountId, want: 4, waiting: 4, rate })
  assert.equal(more.permits, 4)
  const poor = await owner.leaseOne({ accountId, want: 5_000, waiting: 1, rate })
  assert.deepEqual([poor.code, poor.permits], [HoldCode.BALANCE, 1])
  const last = await owner.leaseOne({ accountId, want: 9, least: 3, waiting: 3, rate })
  assert.deepEqual([last.code, last.permits, last.units], [HoldCode.OK, 1, 9])
  const refused = await owner.leaseOne({ accountId, want: 1, waiting: 1, rate })
  assert.deepEqual([refused.code, refused.units, refused.permits], [HoldCode.RATE, 0, 0])
  assert.ok(refused.retryAfterMs > 90_000 && refused.retryAfterMs <= 100_000, `${refused.retryAfterMs} ms`)
  assert.deepEqual(await accountState(redis, accountId), { coin: 985, grants: {}, out: 15 })
})

test('without a rate limit every waiting request gets a permit, and a lease without waiting requests needs none', async () => {
  const accountId = await plainAccount(redis, { coin: 1_000 })
  assert.equal((await owner.leaseOne({ accountId, want: 5, waiting: 5, extraPermits: 3 })).permits, 8)
  const ahead = { accountId, want: 16, least: 0, waiting: 0 }
  assert.deepEqual([(await owner.leaseOne(ahead)).code, (await owner.leaseOne(ahead)).units], [HoldCode.OK, 16])
  const rate = `${SECOND_MICROS * 100},1`
  assert.equal((await owner.leaseOne({ accountId, want: 1, rate })).permits, 1)
  const spent = await owner.leaseOne({ ...ahead, rate })
  assert.deepEqual([spent.code, spent.units, spent.permits], [HoldCode.OK, 16, 0])
})

test('an unknown account, and a full stream', async () => {
  const accountId = await plainAccount(redis, { coin: 100 })
  await redis.del(accountKey(shardOf(accountId), accountId))
  assert.equal((await owner.leaseOne({ accountId, want: 1 })).code, HoldCode.NO_ACCOUNT)
  assert.equal(await redis.exists(keyCountersKey(shardOf(accountId), keyOf(accountId))), 0)
  const other = await plainAccount(redis, { coin: 100 })
  await redis.xadd(ledgerStream(shardOf(other)), '*', 'x', 'y')
  const [code, [leased]] = await owner.lease([{ accountId: other, want: 1 }], { streamMax: 1 })
  assert.deepEqual([code, leased?.code], [LeaseCode.OK, HoldCode.BACKLOG])
  assert.deepEqual(await accountState(redis, other), { coin: 100, grants: {}, out: 0 })
  await redis.del(ledgerStream(shardOf(other)))
})

test('a call that was abandoned, has another epoch or finds admission closed has no effect', async () => {
  const accountId = await plainAccount(redis, { coin: 100 })
  await owner.leaseOne({ accountId, want: 10 })
  assert.deepEqual(await owner.lease([{ accountId, want: 10 }], { op: owner.op }), [LeaseCode.STALE, []])
  const epoch = await openShards(redis)
  assert.deepEqual(await owner.lease([{ accountId, want: 10 }]), [LeaseCode.UNKNOWN_EPOCH, []])
  owner.epoch = epoch
  await closeShards(redis)
  assert.deepEqual(await owner.lease([{ accountId, want: 10 }]), [LeaseCode.CLOSED, []])
  assert.deepEqual(await accountState(redis, accountId), { coin: 90, grants: {}, out: 10 })
})
