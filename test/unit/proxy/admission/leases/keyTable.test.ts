// Goal: reviews may leave out the keys that call themselves quiet, because one would change nothing. Method: a key has random requests,
// answers and endings, and is reviewed all the same.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { UNITS_PER_USD } from '../../../../../contract/money/units.ts'
import { HoldCode } from '../../../../../contract/wire/scripts.ts'
import { answerOf, keyOf, NOW, waiterOf } from '../../../../support/keyLeases.ts'
import { limits } from '../../../../support/limits.ts'
import { rounds } from '../../../../support/rounds.ts'

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
class Reviewed {
  private readonly parts = keyOf()
  private takes = 0
  private ended = 0
  private given = 0
  quietReviews = 0

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

  private review(nowMs: number): void {
    const { key } = this.parts
    const isQuiet = key.isQuiet(nowMs)
    const before = this.seen(nowMs)
    key.giveUp(nowMs)
    if (!isQuiet) return
    this.quietReviews++
    assert.deepEqual(this.seen(nowMs), before)
    assert.deepEqual([key.rests(nowMs), key.isDone(nowMs)], [false, false], 'it stays among the keys in use')
  }

  private seen(nowMs: number): unknown {
    const { lease, seen } = this.parts
    const { coinUnits, grants } = lease.takeGivenUp()
    this.given += grants.reduce((sum, { units }) => sum + units, coinUnits)
    return [lease.free(nowMs, UNITS_PER_USD), this.given, seen.held.length, seen.refused.length]
  }

  private answer({ more, permits, mayRest, isShort, creditsMs }: Answer, nowMs: number): void {
    const { key } = this.parts
    for (const ask of key.asks(nowMs)) {
      const units = ask.wantUnits + ask.extraUnits + more
      const grants = creditsMs === null ? [] : [{ grantId: 'grt_1', expiresAtMs: nowMs + creditsMs, units }]
      const coin = creditsMs === null ? {} : { coinUnits: 0, coinNanos: 0, grants }
      const leased = { ...answerOf(HoldCode.OK, units), ...coin, permits, permitsLeft: 9, mayRest }
      key.answered(ask, isShort ? answerOf(HoldCode.BALANCE, 0) : leased, nowMs)
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
}

test('a review changes nothing of a key that is quiet', () => {
  let quietReviews = 0
  fc.assert(
    fc.property(
      fc.array(action, { minLength: ACTIONS / 2, maxLength: ACTIONS }),
      fc.constantFrom(NOW, HOUR_END_MS - 2_000),
      (actions, startMs) => {
        const key = new Reviewed()
        let nowMs = startMs
        for (const one of actions) {
          if ('waitMs' in one) nowMs += one.waitMs
          // The lease of this key is of one hour; no request comes after it.
          if ('take' in one && nowMs >= HOUR_END_MS) continue
          key.do(one, nowMs)
        }
        quietReviews += key.quietReviews
      },
    ),
    { numRuns: rounds({ short: 3_000, long: 200_000 }) },
  )
  assert.ok(quietReviews > 1_000, `${quietReviews} reviews of quiet keys`)
})
