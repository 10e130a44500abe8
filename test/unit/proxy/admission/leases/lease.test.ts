import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { UNITS_PER_USD } from '../../../../../contract/money/units.ts'
import { Lease } from '../../../../../proxy/admission/leases/lease.ts'
import { leaseField } from '../../../../../proxy/admission/leases/leaseName.ts'
import {
  chargeParts,
  coinParts,
  NO_PARTS,
  type Parts,
  PartsSum,
  unitsOf,
} from '../../../../../proxy/admission/parts.ts'

const HOUR = 498_718
const NOW = HOUR * 3_600_000
/** Units in one coin. */
const PRICES = [UNITS_PER_USD, UNITS_PER_USD / 2, 2 * UNITS_PER_USD, 1_234_567_891, 1_000_000]

/** Coin at one US dollar. */
const coin = (units: number) => ({ coinUnits: units, coinNanos: units })

function newLease(coinUnits: number, grants: { grantId: string; expiresAtMs: number; units: number }[] = []): Lease {
  const lease = new Lease({ shard: 1, accountId: 'acc', keys: 'key_1/key_0', hour: HOUR })
  lease.add({ coinUnits, coinNanos: coinUnits, grants })
  return lease
}

test('a lease is named by its key and its hour, and ends with the hour', () => {
  assert.equal(leaseField('key_1/key_0', HOUR), `L:key_1:${HOUR}`)
  assert.equal(newLease(1).endMs, (HOUR + 1) * 3_600_000)
})

test('grants are held before coin, soonest-expiring first, and expired ones never', () => {
  const lease = newLease(100, [
    { grantId: 'late', expiresAtMs: NOW + 200, units: 10 },
    { grantId: 'soon', expiresAtMs: NOW + 100, units: 5 },
    { grantId: 'gone', expiresAtMs: NOW, units: 50 },
  ])
  assert.equal(lease.free(NOW, UNITS_PER_USD), 115)
  assert.deepEqual(lease.hold(12, NOW, UNITS_PER_USD), {
    ...coin(0),
    grants: [
      { grantId: 'soon', units: 5 },
      { grantId: 'late', units: 7 },
    ],
  })
  assert.deepEqual(lease.hold(8, NOW, UNITS_PER_USD), { ...coin(5), grants: [{ grantId: 'late', units: 3 }] })
})

test('uncharged units are free again, in the pot that they came from', () => {
  const lease = newLease(100, [{ grantId: 'g', expiresAtMs: NOW + 100, units: 10 }])
  const held = lease.hold(30, NOW, UNITS_PER_USD)
  const charged = chargeParts(held, 4, UNITS_PER_USD)
  assert.deepEqual(charged, { ...coin(0), grants: [{ grantId: 'g', units: 4 }] })
  lease.release(held, charged)
  assert.equal(lease.free(NOW, UNITS_PER_USD), 106)
  assert.deepEqual(lease.hold(7, NOW, UNITS_PER_USD), { ...coin(1), grants: [{ grantId: 'g', units: 6 }] })
})

test('a lease releases coin first, and expired grants in any case', () => {
  const lease = newLease(10, [
    { grantId: 'g', expiresAtMs: NOW + 100, units: 10 },
    { grantId: 'gone', expiresAtMs: NOW, units: 3 },
  ])
  lease.giveUp(5, NOW, UNITS_PER_USD)
  const given = lease.takeGivenUp()
  assert.equal(given.coinUnits, 10)
  assert.deepEqual(
    new Map(given.grants.map(({ grantId, units }) => [grantId, units])),
    new Map([
      ['gone', 3],
      ['g', 5],
    ]),
  )
  assert.equal(lease.free(NOW, UNITS_PER_USD), 5)
  assert.equal(lease.hasGivenUp, false)
})

test('a grant returned after its lease was released is released as well', () => {
  const lease = newLease(0, [{ grantId: 'g', expiresAtMs: NOW + 100, units: 10 }])
  const held = lease.hold(4, NOW, UNITS_PER_USD)
  lease.giveUpAll()
  assert.deepEqual(lease.takeGivenUp(), { ...coin(0), grants: [{ grantId: 'g', units: 6 }] })
  lease.release(held, NO_PARTS)
  assert.deepEqual(lease.takeGivenUp(), { ...coin(0), grants: [{ grantId: 'g', units: 4 }] })
})

test('after a lost response all unused leased units are released', () => {
  const lease = newLease(10)
  lease.reconcile({ ...coin(25), grants: [{ grantId: 'g', units: 3 }] }, { ...coin(4), grants: [] })
  assert.equal(lease.free(NOW, UNITS_PER_USD), 0)
  assert.equal(lease.outUnits, 28)
  assert.deepEqual(lease.takeGivenUp(), { ...coin(21), grants: [{ grantId: 'g', units: 3 }] })
})

test('a charge is settled later while at most half of what Redis counts as out is charged', () => {
  const lease = newLease(100, [{ grantId: 'g', expiresAtMs: NOW + 100, units: 40 }])
  const charge = (units: number, granted = 0) => ({ ...coin(units), grants: [{ grantId: 'g', units: granted }] })
  const left = lease.unsettledWith(charge(50, 20))
  assert.deepEqual([left?.coinUnits, left?.coinNanos, left?.grants], [50, 50, [{ grantId: 'g', units: 20 }]])
  assert.equal(lease.unsettledWith(charge(51, 20)), null)
  lease.leaveUnsettled(charge(50, 20))
  assert.equal(lease.outUnits, 70)
  assert.equal(lease.unsettledWith(charge(1)), null)
  // An ending that costs nothing changes nothing.
  assert.equal(lease.unsettledWith(charge(0))?.coinUnits, 50)
  lease.settled()
  assert.equal(lease.unsettledWith(charge(1))?.coinUnits, 1)
})

test('the last coin of a lease is settled with its charge, since no units are counted without coin', () => {
  const lease = newLease(10, [{ grantId: 'g', expiresAtMs: NOW + 100, units: 100 }])
  assert.equal(lease.unsettledWith({ ...coin(10), grants: [] }), null)
  assert.equal(lease.unsettledWith({ ...coin(9), grants: [] })?.coinUnits, 9)
})

test('after a lost response the charges that are not settled are those of Redis', () => {
  const lease = newLease(100)
  lease.leaveUnsettled({ ...coin(10), grants: [] })
  lease.reconcile({ ...coin(60), grants: [] }, { ...coin(4), grants: [] }, { ...coin(30), grants: [] })
  assert.equal(lease.unsettledWith({ ...coin(1), grants: [] })?.coinUnits, 31)
  lease.voidFree({ ...coin(4), grants: [] })
  assert.equal(lease.unsettledWith({ ...coin(1), grants: [] })?.coinUnits, 1)
})

test('a request takes the least coin from a lease that covers its hold, at its own price', () => {
  const [half, double] = [UNITS_PER_USD / 2, UNITS_PER_USD * 2]
  const lease = new Lease({ shard: 1, accountId: 'acc', keys: 'key_1', hour: HOUR })
  lease.add({ coinUnits: 100, coinNanos: 50, grants: [] })
  assert.deepEqual(
    [half, UNITS_PER_USD, double].map((price) => lease.free(NOW, price)),
    [25, 50, 100],
  )
  assert.deepEqual(lease.hold(7, NOW, double), { coinUnits: 7, coinNanos: 4, grants: [] })
  const held = lease.hold(20, NOW, half)
  assert.deepEqual(held, { coinUnits: 20, coinNanos: 40, grants: [] })
  assert.equal(lease.free(NOW, double), 12)
  const charged = chargeParts(held, 3, half)
  assert.deepEqual(charged, { coinUnits: 3, coinNanos: 6, grants: [] })
  lease.release(held, charged)
  lease.giveUpAll()
  assert.deepEqual(lease.takeGivenUp(), { coinUnits: 90, coinNanos: 40, grants: [] })
})

test('once no coin is out, no units are counted for it', () => {
  const lease = new Lease({ shard: 1, accountId: 'acc', keys: 'key_1', hour: HOUR })
  lease.add({ coinUnits: 10, coinNanos: 7, grants: [{ grantId: 'g', expiresAtMs: NOW + 100, units: 1 }] })
  lease.takenOff({ coinUnits: 8, coinNanos: 7, grants: [] })
  assert.deepEqual([lease.isOut, lease.outUnits], [true, 1])
  lease.takenOff({ coinUnits: 0, coinNanos: 0, grants: [{ grantId: 'g', units: 1 }] })
  assert.equal(lease.isOut, false)
})

test('no sequence of holds, charges and returns creates or loses a unit or a nano of any pot, at any coin price', () => {
  const grant = fc.record({
    grantId: fc.constantFrom('a', 'b', 'c'),
    units: fc.nat(50),
    lifeMs: fc.integer({ min: -5, max: 50 }),
  })
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), coin: fc.nat(50), grant }),
    fc.record({ kind: fc.constant('hold' as const), units: fc.nat(60) }),
    fc.record({
      kind: fc.constant('end' as const),
      place: fc.nat(9),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    fc.record({ kind: fc.constant('giveUp' as const), keep: fc.nat(40) }),
    fc.record({ kind: fc.constant('return' as const) }),
    fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(10) }),
    fc.record({ kind: fc.constant('price' as const), to: fc.constantFrom(...PRICES) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const lease = newLease(0)
      const leased = new PartsSum()
      const gone = new PartsSum()
      const open: { held: Parts; price: number }[] = []
      let price = UNITS_PER_USD
      // A grant has one expiry, whenever it is leased.
      const expiries = new Map<string, number>()
      let nowMs = NOW
      for (const one of steps) {
        if (one.kind === 'add') {
          const { grantId, units, lifeMs } = one.grant
          const expiresAtMs = expiries.get(grantId) ?? nowMs + lifeMs
          expiries.set(grantId, expiresAtMs)
          lease.add({ ...coinParts(one.coin, price, []), grants: [{ grantId, expiresAtMs, units }] })
          leased.add({ ...coinParts(one.coin, price, []), grants: [{ grantId, units }] })
        } else if (one.kind === 'hold') {
          const units = Math.min(one.units, lease.free(nowMs, price))
          const held = lease.hold(units, nowMs, price)
          assert.equal(unitsOf(held), units)
          open.push({ held, price })
        } else if (one.kind === 'end' && open.length > 0) {
          const [ended] = open.splice(one.place % open.length, 1)
          assert.ok(ended !== undefined)
          const { held } = ended
          const charged = chargeParts(held, Math.floor(unitsOf(held) * one.share), ended.price)
          assert.ok(charged.coinNanos <= held.coinNanos)
          lease.release(held, charged)
          gone.add(charged)
        } else if (one.kind === 'giveUp') {
          lease.giveUp(one.keep, nowMs, price)
        } else if (one.kind === 'return') {
          gone.add(lease.takeGivenUp())
        } else if (one.kind === 'pass') {
          nowMs += one.ms
        } else if (one.kind === 'price') {
          price = one.to
        }
      }
      for (const { held } of open) lease.release(held, NO_PARTS)
      lease.giveUpAll()
      gone.add(lease.takeGivenUp())
      assert.deepEqual([gone.coinUnits, gone.coinNanos], [leased.coinUnits, leased.coinNanos])
      for (const { grantId, units } of leased.grants) assert.equal(gone.ofGrant(grantId), units)
    }),
  )
})
