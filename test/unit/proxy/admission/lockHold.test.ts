import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chargeUnits, type ModelRates, NO_USAGE, resolveRateSet } from '../../../../contract/money/charge.ts'
import { holdRates, sizeHold } from '../../../../proxy/admission/holdSize.ts'
import { LockHold } from '../../../../proxy/admission/lockHold.ts'

const MICRO = 1_000

const ratesOf = (input: number, output: number, cachedInput?: number): ModelRates => {
  const set = resolveRateSet(cachedInput === undefined ? { input, output } : { input, output, cachedInput })
  return { ...set, longThreshold: 0, long: set }
}

function holdOf(sheet: ModelRates, locked: ModelRates, prompt: number, output: number, shrinks = false) {
  const size = sizeHold(holdRates(sheet, prompt, false), prompt, output, shrinks)
  const series = { id: 'lock_1', provider: 'mock', endsAtMs: 1, microUnits: MICRO, rates: locked }
  return { size, hold: new LockHold(series, size, false) }
}

const SHEET = ratesOf(1_000_000_000, 2_000_000_000)
const LOCKED = ratesOf(500_000_000, 1_000_000_000)

test('tokens pay for the worst case at the prices of the series, in whole micro-tokens', () => {
  const { hold } = holdOf(SHEET, LOCKED, 27, 10)
  assert.deepEqual([hold.wantUnits, hold.seriesId, hold.microUnits, hold.isBurnable], [24_000, 'lock_1', MICRO, true])
  assert.deepEqual(hold.rest(24_000), { wantUnits: 0, leastUnits: 0 })
  assert.deepEqual(hold.rest(6_000), { wantUnits: 35_250, leastUnits: 35_250 })
  assert.equal(holdOf(SHEET, ratesOf(0, 0), 27, 10).hold.isBurnable, false)
})

test('an open output needs the cost of the prompt and one token beside the tokens', () => {
  const { hold } = holdOf(SHEET, LOCKED, 100, 1_000, true)
  // 50,000 and 1,000 units of the lock, 100,000 and 2,000 at the sheet.
  assert.deepEqual(hold.rest(51_000), { wantUnits: 1_998_000, leastUnits: 0 })
  assert.deepEqual(hold.rest(25_000), { wantUnits: 2_050_000, leastUnits: 52_000 })
})

const price = fc.oneof(fc.nat(1_000), fc.nat(20_000_000_000))
const tokens = fc.oneof(fc.nat(100), fc.nat(100_000))

test('usage within a hold is never charged more than the hold, for any share of tokens', () => {
  fc.assert(
    fc.property(
      fc.tuple(price, price, price),
      fc.tuple(price, price, price),
      fc.tuple(tokens, tokens),
      fc.record({ lock: fc.double({ min: 0, max: 1, noNaN: true }), rest: fc.double({ min: 0, max: 1, noNaN: true }) }),
      fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
      ([si, so, sc], [li, lo, lc], [prompt, output], part, [usedPrompt, cached]) => {
        const [sheet, locked] = [ratesOf(si, so, sc), ratesOf(li, lo, lc)]
        const { hold } = holdOf(sheet, locked, prompt, output, true)
        if (!hold.isBurnable) return
        const lockUnits = Math.floor((part.lock * hold.wantUnits) / MICRO) * MICRO
        if (lockUnits === 0) return
        const { wantUnits, leastUnits } = hold.rest(lockUnits)
        assert.ok(leastUnits <= wantUnits)
        // The hold shrinks to the balance, and the output to what it pays for.
        const restUnits = leastUnits + Math.floor(part.rest * (wantUnits - leastUnits))
        const granted = hold.outputTokens(lockUnits + restUnits, lockUnits)
        assert.ok(granted <= output)
        if (restUnits === wantUnits) assert.equal(granted, output)
        const input = Math.floor(usedPrompt * prompt)
        const fromCache = Math.floor(cached * input)
        const usage = { ...NO_USAGE, input: input - fromCache, cachedInput: fromCache, output: granted }
        const charge = hold.charge(usage, chargeUnits(sheet, usage), lockUnits)
        assert.ok(charge.lockUnits <= lockUnits)
        assert.ok(charge.sheetUnits <= restUnits, `${charge.sheetUnits} of ${restUnits}`)
      },
    ),
    { numRuns: 2_000 },
  )
})
