import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UNITS_PER_USD } from '../../../../../contract/money/units.ts'
import { HoldCode } from '../../../../../contract/wire/scripts.ts'
import type { Held } from '../../../../../proxy/admission/held.ts'
import type { KeyLeases } from '../../../../../proxy/admission/leases/keyLeases.ts'
import type { Lease } from '../../../../../proxy/admission/leases/lease.ts'
import type { LeaseAnswer } from '../../../../../proxy/admission/leases/leaseCall.ts'
import { answerOf, keyOf, NOW, principal, SERIES, waiterOf } from '../../../../support/keyLeases.ts'
import { limits } from '../../../../support/limits.ts'
import { itemOf } from '../../../../support/present.ts'

/** Redis answers the one question of a key. */
function answer(key: KeyLeases, result: LeaseAnswer): void {
  key.answered(itemOf(key.asks(NOW), 0), result, NOW)
}

test('a recall ends with the requests that it was made for: the next one that is short recalls again', () => {
  const { key, seen } = keyOf()
  key.take(waiterOf('req_1', 100), NOW)
  answer(key, answerOf(HoldCode.BALANCE, 0, 500))
  assert.deepEqual([seen.recalls, seen.refused], [1, []])
  key.refuseAll(HoldCode.CLOSED)
  assert.deepEqual(seen.refused, [{ requestId: 'req_1', code: HoldCode.CLOSED, leastUnits: 100 }])
  const laterMs = NOW + limits.recallWaitMs
  key.take(waiterOf('req_2', 100), laterMs)
  key.answered(itemOf(key.asks(laterMs), 0), answerOf(HoldCode.BALANCE, 0, 500), laterMs)
  assert.deepEqual([seen.recalls, seen.refused.length], [2, 1])
})

test('when a recall brings nothing in time, its requests are refused, and one that brings it serves them', () => {
  const { key, seen } = keyOf()
  key.take(waiterOf('req_1', 100), NOW)
  answer(key, answerOf(HoldCode.BALANCE, 0, 500))
  key.answered(itemOf(key.asks(NOW), 0), answerOf(HoldCode.BALANCE, 0, 500), NOW + limits.recallWaitMs)
  assert.deepEqual(seen.refused, [{ requestId: 'req_1', code: HoldCode.BALANCE, leastUnits: 100 }])
  key.take(waiterOf('req_2', 100), NOW)
  answer(key, answerOf(HoldCode.BALANCE, 0, 500))
  answer(key, answerOf(HoldCode.OK, 100))
  assert.deepEqual([seen.recalls, seen.held.map(({ units }) => units)], [2, [100]])
  assert.deepEqual([key.asks(NOW), key.isDone(NOW)], [[], false])
})

test('a request that comes while another one is refused waits for its own answer', () => {
  const { key, seen } = keyOf(() => key.take(waiterOf('req_2', 50), NOW))
  key.take(waiterOf('req_1', 100), NOW)
  answer(key, answerOf(HoldCode.BALANCE, 0))
  assert.deepEqual(
    seen.refused.map(({ requestId }) => requestId),
    ['req_1'],
  )
  answer(key, answerOf(HoldCode.OK, 50))
  assert.deepEqual(
    seen.held.map(({ units }) => units),
    [50],
  )
})

test('tokens are free again when the rest is refused, and a part of the hold when it is granted', () => {
  for (const code of [HoldCode.BALANCE, HoldCode.OK]) {
    const { key, lease, seen } = keyOf()
    lease.addLock({ grantId: SERIES, expiresAtMs: 2 * NOW, units: 40 })
    key.lease = lease
    key.take(waiterOf('req_1', 100, 40), NOW)
    assert.equal(lease.locks.unitsOf(SERIES, NOW), 0)
    answer(key, answerOf(code, code === HoldCode.OK ? 60 : 0))
    assert.equal(lease.locks.unitsOf(SERIES, NOW), code === HoldCode.OK ? 0 : 40)
    if (code === HoldCode.OK) {
      const { units, lockUnits, creditUnits } = itemOf(seen.held, 0)
      assert.deepEqual([units, lockUnits, creditUnits], [100, 40, 0])
    } else assert.deepEqual(seen.refused, [{ requestId: 'req_1', code, leastUnits: 60 }])
  }
})

test('a hold is counted in the hour of its lease, also when the hour turns between the two', () => {
  const END = 2 * 3_600_000
  const seenAt = (askedMs: number, answeredMs: number, heldMs: number): number[] => {
    const { key, seen } = keyOf(undefined, { now: () => heldMs })
    key.take(waiterOf('req_1', 100), askedMs)
    key.answered(itemOf(key.asks(askedMs), 0), { ...answerOf(HoldCode.OK, 1_000), permits: 2 }, answeredMs)
    key.take(waiterOf('req_2', 100), Math.max(askedMs, answeredMs))
    return seen.held.map(({ heldAtMs }) => heldAtMs)
  }
  assert.deepEqual(seenAt(NOW, NOW + 5, NOW + 7), [NOW + 7, NOW + 7])
  assert.deepEqual(seenAt(END - 9, END - 1, END + 40), [END - 1, END - 1], 'held up beyond the hour')
  assert.deepEqual(seenAt(NOW - 9, NOW, NOW - 1), [NOW, NOW], 'the estimate of the clock is behind the answer')
})

const WANT = 100
const REST = WANT * limits.leaseRestHolds
const CHARGE = 30

/** Redis lets a lease rest with all that was asked for. */
function answerRest(key: KeyLeases, nowMs: number): void {
  const [ask] = key.asks(nowMs)
  assert.deepEqual(ask?.rest, { mostUnits: REST - WANT, leastUnits: WANT, freeUnits: WANT - (ask?.wantUnits ?? 0) })
  const units = (ask?.wantUnits ?? 0) + REST - WANT
  const permits = ask?.waiting ?? 0
  key.answered(
    ask ?? assert.fail(),
    { ...answerOf(HoldCode.OK, units), permits, permitsLeft: 99, mayRest: true },
    nowMs,
  )
}

/** A request that ends a moment later, with its delivery. @returns the permits in the delivery */
function request(key: KeyLeases, lease: Lease, held: readonly Held[], place: number, nowMs: number): string {
  key.take(waiterOf(`req_${place}`, WANT), nowMs)
  if (held.length === place) answerRest(key, nowMs)
  lease.release(itemOf(held, place).parts, { coinUnits: CHARGE, coinNanos: CHARGE, grants: [] })
  lease.takenOff({ coinUnits: CHARGE, coinNanos: CHARGE, grants: [] })
  key.ended(nowMs)
  const permits = key.takePermits(nowMs)
  if (permits !== '') key.permits.add(0, 99)
  return permits
}

test('a key that calls every five seconds asks Redis once in a minute, and gives nothing back', () => {
  const { key, lease, seen } = keyOf()
  for (let i = 0; i < 12; i++) {
    const nowMs = NOW + i * 5_000
    key.giveUp(nowMs)
    assert.equal(key.rests(nowMs), i > 0)
    assert.equal(request(key, lease, seen.held, i, nowMs), i === 0 ? '' : '-1,1000,20')
  }
  assert.deepEqual([seen.wants, seen.held.length, lease.hasGivenUp], [1, 12, false])
  assert.equal(lease.free(NOW, UNITS_PER_USD), REST - 12 * CHARGE)
})

test('a lease that rests is renewed for its holds once one no longer fits', () => {
  const { key, lease, seen } = keyOf()
  const fitting = 1 + Math.floor((REST - WANT) / CHARGE)
  for (let i = 0; i < fitting; i++) request(key, lease, seen.held, i, NOW + i * 5_000)
  assert.deepEqual([seen.wants, seen.held.length], [1, fitting])
  request(key, lease, seen.held, fitting, NOW + fitting * 5_000)
  assert.deepEqual([seen.wants, lease.free(NOW, UNITS_PER_USD)], [2, REST - CHARGE])
})

test('a lease rests for a while, to the end of its hour, and not while its account is leased exactly', () => {
  const end = NOW + limits.leaseRestMs
  let isExact = false
  const { key, lease, seen } = keyOf(undefined, { now: () => NOW }, () => isExact)
  request(key, lease, seen.held, 0, NOW)
  assert.deepEqual([key.rests(NOW), key.rests(NOW + limits.leaseIdleMs), key.rests(end - 1)], [false, true, true])
  assert.deepEqual([key.rests(end), key.rests(lease.endMs)], [false, false])
  isExact = true
  key.giveUp(NOW + limits.leaseIdleMs)
  assert.deepEqual([lease.takeGivenUp().coinUnits, key.rests(NOW + limits.leaseIdleMs)], [REST - CHARGE, false])
  const late = keyOf()
  request(late.key, late.lease, late.seen.held, 0, late.lease.endMs - 3_000)
  late.key.giveUp(late.lease.endMs)
  assert.equal(late.lease.takeGivenUp().coinUnits, REST - CHARGE)
})

test('a lease does not rest with credits that expire meanwhile', () => {
  for (const [afterMs, rests] of [
    [limits.leaseRestMs - 1, false],
    [2 * limits.leaseRestMs, true],
  ] as const) {
    const { key } = keyOf()
    key.take(waiterOf('req_1', WANT), NOW)
    const grants = [{ grantId: 'grt_1', expiresAtMs: NOW + limits.leaseIdleMs + afterMs, units: REST }]
    const answer = { ...answerOf(HoldCode.OK, REST), coinUnits: 0, coinNanos: 0, grants, mayRest: true }
    key.answered(itemOf(key.asks(NOW), 0), answer, NOW)
    assert.equal(key.rests(NOW + limits.leaseIdleMs), rests)
  }
})

test('what was held beside a lease that rests does not rest with it', () => {
  const { key, lease, seen } = keyOf()
  key.take(waiterOf('req_0', WANT), NOW)
  answerRest(key, NOW)
  // More is held than the lease had: its hold comes back to the lease when it is void.
  lease.add({ coinUnits: 5 * REST, coinNanos: 5 * REST, grants: [] })
  key.ended(NOW)
  assert.equal(lease.free(NOW, UNITS_PER_USD), REST)
  assert.equal(lease.takeGivenUp().coinUnits, 5 * REST - WANT)
  assert.equal(seen.held.length, 1)
})

test('another record of the key ends the rest: its next request asks anew', () => {
  const { key, lease, seen } = keyOf()
  request(key, lease, seen.held, 0, NOW)
  key.take({ ...waiterOf('req_1', WANT), principal: { ...principal } }, NOW + 5_000)
  assert.deepEqual([seen.held.length, lease.takeGivenUp().coinUnits], [1, REST - CHARGE])
  assert.equal(itemOf(key.asks(NOW + 5_000), 0).wantUnits, WANT)
})

test('a request on a lease that rests waits for Redis once the rate has no permit left, or one is owed', () => {
  for (const left of [0, 1]) {
    const { key, lease, seen } = keyOf()
    request(key, lease, seen.held, 0, NOW)
    key.take(waiterOf('req_1', WANT), NOW + 5_000)
    assert.equal(seen.held.length, 2)
    if (left === 0) {
      assert.equal(key.takePermits(NOW + 5_000), '-1,1000,20')
      key.permits.add(0, limits.leaseRestPermits - 1)
    }
    key.take(waiterOf('req_2', WANT), NOW + 10_000)
    assert.equal(seen.held.length, 2)
    assert.equal(itemOf(key.asks(NOW + 10_000), 0).waiting, 1 + left)
  }
})
