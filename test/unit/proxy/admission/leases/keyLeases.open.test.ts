// Goal: a request whose output is open is held for less than it wants only where nothing more is left: else its answer would be cut off
// although there is money for all of it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { UNITS_PER_USD } from '../../../../../contract/money/units.ts'
import { HoldCode } from '../../../../../contract/wire/scripts.ts'
import type { LeaseAsk } from '../../../../../proxy/admission/leases/leaseCall.ts'
import { answerOf, keyOf, NOW, waiterOf } from '../../../../support/keyLeases.ts'
import { itemOf } from '../../../../support/present.ts'
import { rounds } from '../../../../support/rounds.ts'

const WANT = 100
const LEAST = 5
const CHARGE = 30

const openWaiter = (requestId: string, wantUnits = WANT) => waiterOf(requestId, wantUnits, 0, LEAST)

const CHARGED = { coinUnits: 1, coinNanos: 1, grants: [] }

type Key = ReturnType<typeof keyOf>

const heldUnits = ({ seen }: Key): number[] => seen.held.map(({ units }) => units)

test('units that are given up while Redis is asked for the rest are asked for once more', () => {
  for (const isRecalled of [false, true]) {
    const one = keyOf()
    const { key } = one
    key.take(openWaiter('req_1'), NOW)
    key.answered(itemOf(key.asks(NOW), 0), answerOf(HoldCode.OK, WANT + 60), NOW)
    one.lease.release(itemOf(one.seen.held, 0).parts, { coinUnits: CHARGE, coinNanos: CHARGE, grants: [] })
    const free = WANT + 60 - CHARGE
    key.take(openWaiter('req_2', 2 * WANT), NOW)
    const ask = itemOf(key.asks(NOW), 0)
    assert.equal(ask.wantUnits, 2 * WANT - free)
    key.giveUp(NOW, isRecalled)
    key.answered(ask, answerOf(HoldCode.OK, ask.wantUnits), NOW)
    assert.deepEqual(heldUnits(one), [WANT])
    const again = itemOf(key.asks(NOW), 0)
    assert.equal(again.wantUnits, free)
    key.answered(again, answerOf(HoldCode.OK, again.wantUnits), NOW)
    assert.deepEqual(heldUnits(one), [WANT, 2 * WANT])
  }
})

test('a request that comes while more is leased in advance gets all that it wants', () => {
  const one = keyOf()
  const { key } = one
  let renewal: LeaseAsk | undefined
  for (let i = 0; renewal === undefined && i < 50; i++) {
    key.take(openWaiter(`req_${i}`), NOW)
    const [ask] = key.asks(NOW)
    if (ask === undefined) continue
    if (ask.wantUnits === 0) renewal = ask
    else key.answered(ask, { ...answerOf(HoldCode.OK, ask.wantUnits + 3 * WANT), permits: 100 }, NOW)
  }
  assert.ok(renewal !== undefined, 'nothing was leased in advance')
  const before = one.seen.held.length
  key.take(openWaiter('req_large', 50 * WANT), NOW)
  key.answered(renewal, answerOf(HoldCode.OK, 4 * WANT), NOW)
  assert.equal(one.seen.held.length, before)
  const ask = itemOf(key.asks(NOW), 0)
  key.answered(ask, answerOf(HoldCode.OK, ask.wantUnits), NOW)
  assert.deepEqual(heldUnits(one).slice(before), [50 * WANT])
})

test('where Redis has less than was asked for, the first request gets what is left', () => {
  const one = keyOf()
  const { key } = one
  key.take(openWaiter('req_1'), NOW)
  key.take(openWaiter('req_2'), NOW)
  const ask = itemOf(key.asks(NOW), 0)
  assert.equal(ask.wantUnits, 2 * WANT)
  key.answered(ask, { ...answerOf(HoldCode.OK, 40), permits: 2 }, NOW)
  assert.deepEqual(heldUnits(one), [40])
  key.answered(itemOf(key.asks(NOW), 0), answerOf(HoldCode.BALANCE, 0), NOW)
  assert.deepEqual(
    one.seen.refused.map(({ requestId, leastUnits }) => [requestId, leastUnits]),
    [['req_2', LEAST]],
  )
})

test('with money for all of them, no open request is held for less than it wants, in whatever order things happen', () => {
  const take = fc.record({ kind: fc.constant('take' as const), units: fc.integer({ min: LEAST, max: 1_000 }) })
  const others = ['ask', 'answer', 'end', 'deliver', 'review', 'recall'] as const
  const step = fc.oneof(
    { weight: 1, arbitrary: take },
    { weight: 5, arbitrary: fc.constantFrom(...others.map((kind) => ({ kind, units: 0 }))) },
  )
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 100, size: 'max' }),
      fc.integer({ min: 0, max: 500 }),
      (steps, extraUnits) => {
        const one = keyOf()
        const { key, lease, seen } = one
        const wants: number[] = []
        let asked: LeaseAsk | undefined
        let [ended, delivered] = [0, 0]
        const answer = () => {
          if (asked === undefined) return
          const { wantUnits } = asked
          const units = wantUnits + Math.min(extraUnits, asked.extraUnits)
          const given = { ...answerOf(HoldCode.OK, units), permits: asked.waiting + asked.extraPermits }
          const ask = asked
          asked = undefined
          key.answered(ask, given, NOW)
        }
        for (const { kind, units } of steps) {
          if (kind === 'take') {
            wants.push(units)
            key.take(openWaiter(`req_${wants.length}`, units), NOW)
          } else if (kind === 'ask') asked ??= key.asks(NOW)[0]
          else if (kind === 'answer') answer()
          else if (kind === 'end') {
            if (ended < seen.held.length) lease.release(itemOf(seen.held, ended++).parts, CHARGED)
          } else if (kind === 'deliver') {
            for (; delivered < ended; delivered++) lease.takenOff(CHARGED)
            key.ended(NOW)
          } else key.giveUp(NOW, kind === 'recall')
          lease.takeGivenUp()
        }
        // Nothing happens between a question and its answer any more: all that wait are served.
        for (let call = 0; seen.held.length < wants.length && call < 4; call++) {
          answer()
          asked = key.asks(NOW)[0]
        }
        assert.deepEqual(heldUnits(one), wants)
        assert.ok(lease.free(NOW, UNITS_PER_USD) >= 0)
      },
    ),
    { numRuns: rounds({ short: 500, long: 20_000 }) },
  )
})
