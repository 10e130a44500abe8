// Goal: a review that leaves out the keys which have nothing to give up gives back what one of every key does, and no later. Method:
// two keys have the same random requests, answers and endings; one of them is reviewed each time, the other where it is not quiet.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { UNITS_PER_USD } from '../../../../../contract/money/units.ts'
import { HoldCode } from '../../../../../contract/wire/scripts.ts'
import { answerOf, keyOf, NOW, waiterOf } from '../../../../support/keyLeases.ts'
import { limits } from '../../../../support/limits.ts'

const ACTIONS = 40
const HOUR_END_MS = NOW + 3_600_000
/** Shorter than the interval of reviews, and longer than a key stays in use. */
const WAITS_MS = [1, 40, 40, 250, 250, 250, limits.leaseIdleMs - 1, limits.leaseIdleMs, 3_000]
const CREDITS_MS = [500, limits.leaseRestMs - 1, 2 * limits.leaseRestMs]

interface Answer {
  readonly more: number
  readonly permits: number
  readonly mayRest: boolean
  readonly isShort: boolean
  /** Until the credits expire; null for coin. */
  readonly creditsMs: number | null
}

type Action =
  | { readonly take: number; readonly answer: Answer | null }
  | { readonly answer: Answer }
  | { readonly endPart: number }
  | { readonly waitMs: number }
  | { readonly recall: true }
  | { readonly endRest: true }

const answer: fc.Arbitrary<Answer> = fc.record({
  more: fc.constantFrom(0, 0, 1, 700),
  permits: fc.integer({ min: 1, max: 3 }),
  mayRest: fc.boolean(),
  isShort: fc.constantFrom(false, false, false, true),
  creditsMs: fc.constantFrom(null, null, ...CREDITS_MS),
})

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ take: fc.integer({ min: 1, max: 200 }), answer: fc.option(answer, { freq: 4 }) }),
  },
  { weight: 1, arbitrary: fc.record({ answer }) },
  { weight: 4, arbitrary: fc.record({ endPart: fc.integer({ min: 0, max: 4 }) }) },
  { weight: 6, arbitrary: fc.record({ waitMs: fc.constantFrom(...WAITS_MS) }) },
  { weight: 1, arbitrary: fc.constantFrom<Action>({ recall: true }, { endRest: true }) },
)

/** One key, and all that it has given back. */
class Side {
  readonly parts = keyOf()
  readonly isSparing: boolean
  private takes = 0
  private ended = 0
  private given = 0
  skipped = 0

  constructor(isSparing: boolean) {
    this.isSparing = isSparing
  }

  do(one: Action, nowMs: number): void {
    const { key } = this.parts
    if ('take' in one) {
      key.take(waiterOf(`req_${this.takes++}`, one.take), nowMs)
      if (one.answer !== null) this.answer(one.answer, nowMs)
    } else if ('answer' in one) this.answer(one.answer, nowMs)
    else if ('endPart' in one) this.end(one.endPart, nowMs)
    else if ('recall' in one) key.giveUp(nowMs, true)
    else if ('endRest' in one) key.endRest(nowMs)
    else this.review(nowMs)
  }

  /** Everything by which the two could differ. */
  seen(nowMs: number): unknown {
    const { key, lease, seen } = this.parts
    const { coinUnits, grants } = lease.takeGivenUp()
    this.given += grants.reduce((sum, { units }) => sum + units, coinUnits)
    const free = lease.free(nowMs, UNITS_PER_USD)
    return [
      free,
      this.given,
      key.rests(nowMs),
      key.isDone(nowMs),
      key.takePermits(nowMs),
      seen.held.length,
      seen.refused,
    ]
  }

  private answer({ more, permits, mayRest, isShort, creditsMs }: Answer, nowMs: number): void {
    const { key } = this.parts
    for (const ask of key.asks(nowMs)) {
      const units = ask.wantUnits + ask.extraUnits + more
      const grants = creditsMs === null ? [] : [{ grantId: 'grt_1', expiresAtMs: nowMs + creditsMs, units }]
      const coin = creditsMs === null ? {} : { coinUnits: 0, coinNanos: 0, grants }
      const got = answerOf(HoldCode.OK, units)
      key.answered(
        ask,
        isShort ? answerOf(HoldCode.BALANCE, 0) : { ...got, ...coin, permits, permitsLeft: 9, mayRest },
        nowMs,
      )
    }
  }

  private end(part: number, nowMs: number): void {
    const { key, lease, seen } = this.parts
    const parts = seen.held[this.ended]?.parts
    if (parts === undefined) return
    this.ended++
    const of = (units: number): number => Math.floor((units * part) / 4)
    const grants = parts.grants.map(({ grantId, units }) => ({ grantId, units: of(units) }))
    const charged = { coinUnits: of(parts.coinUnits), coinNanos: of(parts.coinNanos), grants }
    lease.release(parts, charged)
    lease.takenOff(charged)
    key.ended(nowMs)
  }

  private review(nowMs: number): void {
    if (this.isSparing && this.parts.key.isQuiet(nowMs)) this.skipped++
    else this.parts.key.giveUp(nowMs)
  }
}

test('a key that is left out by reviews has and gives back the same at every moment', () => {
  let skipped = 0
  fc.assert(
    fc.property(
      fc.array(action, { minLength: ACTIONS / 2, maxLength: ACTIONS }),
      fc.constantFrom(NOW, HOUR_END_MS - 2_000),
      (actions, startMs) => {
        const sides = [new Side(false), new Side(true)] as const
        let nowMs = startMs
        for (const one of actions) {
          if ('waitMs' in one) nowMs += one.waitMs
          // A lease of this key is of one hour; no request comes after it.
          if ('take' in one && nowMs >= HOUR_END_MS) continue
          for (const side of sides) side.do(one, nowMs)
          assert.deepEqual(sides[1].seen(nowMs), sides[0].seen(nowMs), JSON.stringify(one))
        }
        skipped += sides[1].skipped
      },
    ),
    { numRuns: 3_000 },
  )
  assert.ok(skipped > 1_000, `${skipped} reviews were left out`)
})
