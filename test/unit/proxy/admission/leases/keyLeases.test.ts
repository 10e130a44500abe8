import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UNITS_PER_USD } from '../../../../../contract/money/units.ts'
import { HoldCode } from '../../../../../contract/wire/scripts.ts'
import { payerPrincipal } from '../../../../../proxy/access/payerPrincipal.ts'
import type { Held } from '../../../../../proxy/admission/held.ts'
import type { HoldWaiter } from '../../../../../proxy/admission/holds.ts'
import { KeyLeases } from '../../../../../proxy/admission/leases/keyLeases.ts'
import { Lease } from '../../../../../proxy/admission/leases/lease.ts'
import type { LeaseAnswer } from '../../../../../proxy/admission/leases/leaseCall.ts'
import type { LeaseContext } from '../../../../../proxy/admission/leases/leaseContext.ts'
import { limits } from '../../../../support/limits.ts'
import { itemOf } from '../../../../support/present.ts'

const NOW = 3_600_000
const SERIES = 'lock_1'
const principal = payerPrincipal('0x00000000000000000000000000000000000000aa')

interface Refused {
  readonly requestId: string
  readonly code: number
  readonly leastUnits: number
}

/** The leases of one key, with everything that they ask of their shard and process. */
function keyOf(onRefused?: () => void) {
  const lease = new Lease({ shard: 0, accountId: principal.accountId, keys: principal.keyId, hour: 1 })
  const seen = { wants: 0, recalls: 0, held: [] as Held[], refused: [] as Refused[] }
  const context = {
    limits,
    mayUse: true,
    clock: { now: () => NOW },
    isExact: () => false,
    refuse: ({ requestId }: HoldWaiter, refusal: { code: number; leastUnits: number }) => {
      seen.refused.push({ requestId, code: refusal.code, leastUnits: refusal.leastUnits })
      onRefused?.()
    },
    recall: () => void seen.recalls++,
    retrySoon: () => undefined,
  } as unknown as LeaseContext
  const shard = {
    want: () => void seen.wants++,
    opened: (_waiter: HoldWaiter, _lease: Lease, held: Held) => void seen.held.push(held),
    leaseOf: () => lease,
  }
  return { key: new KeyLeases(principal, shard, context), lease, seen }
}

function waiterOf(requestId: string, wantUnits: number, lockWantUnits = 0): HoldWaiter {
  const rest = (units: number) => ({ wantUnits: wantUnits - units, leastUnits: wantUnits - units })
  return {
    requestId,
    principal,
    wantUnits,
    leastUnits: wantUnits,
    coinUsdUnits: UNITS_PER_USD,
    holdMeta: '',
    ...(lockWantUnits > 0 && { lock: { seriesId: SERIES, microUnits: 1, wantUnits: lockWantUnits, rest } }),
    onHeld: () => undefined,
    onHoldRefused: () => undefined,
    onCrashed: () => undefined,
  }
}

/** @param units of coin */
const answerOf = (code: number, units: number, out = 0): LeaseAnswer => ({
  code,
  units,
  retryMs: 0,
  permits: code === HoldCode.OK ? 1 : 0,
  coinUnits: units,
  coinNanos: units,
  grants: [],
  out,
})

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
