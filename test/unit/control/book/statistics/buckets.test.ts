// Goal: percentiles of counted times are the bound of the bucket that the exact percentile lies in.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BOUNDS_MS, bucketOf, percentileMs } from '../../../../../control/book/statistics/buckets.ts'

test('a time is in the first bucket whose bound it does not exceed', () => {
  const times = BOUNDS_MS.flatMap((bound) => [bound - 1, bound, bound + 1])
  for (const ms of times) assert.equal(bucketOf(ms), BOUNDS_MS.filter((bound) => bound < ms).length)
})

test('bounds rise, each at most 60 % above the one before up to 10 ms, and at most 31 % from there on', () => {
  assert.equal(BOUNDS_MS.length, 64)
  assert.deepEqual(BOUNDS_MS.slice(0, 12), [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25])
  assert.equal(BOUNDS_MS.at(-1), 4_000_000)
  for (const [i, bound] of BOUNDS_MS.entries()) {
    const before = BOUNDS_MS[i - 1] ?? 0
    assert.ok(bound > before, String(bound))
    if (bound > 10) assert.ok(bound <= before * 1.31, String(bound))
  }
})

test('a percentile is the bound above the exact one', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 5_000_000 }), { minLength: 1, maxLength: 200 }),
      fc.integer({ min: 1, max: 100 }),
      (times, percent) => {
        const counts: number[] = []
        for (const ms of times) counts[bucketOf(ms)] = (counts[bucketOf(ms)] ?? 0) + 1
        const sorted = [...times].sort((a, b) => a - b)
        const exact = sorted[Math.ceil((times.length * percent) / 100) - 1] ?? 0
        const expected = BOUNDS_MS.find((bound) => exact <= bound) ?? null
        assert.equal(
          percentileMs(
            Array.from(counts, (count) => count ?? 0),
            percent,
          ),
          expected,
        )
      },
    ),
  )
})

test('an empty histogram has no percentile', () => {
  assert.equal(percentileMs([], 50), null)
  assert.equal(percentileMs([0, 0], 50), null)
})
