import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Histogram } from '../../../../control/load/histogram.ts'

test('a quantile is at most 1 % above the measured one, and never below it', () => {
  const times = fc.array(fc.double({ min: 0.02, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 300 })
  const shares = fc.constantFrom(0.001, 0.5, 0.9, 0.99, 0.999, 1)
  fc.assert(
    fc.property(times, shares, (values, share) => {
      const histogram = new Histogram()
      for (const value of values) histogram.add(value)
      const sorted = values.toSorted((a, b) => a - b)
      const exact = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
      const found = histogram.quantile(share)
      assert.ok(found >= exact * 0.999_999 && found <= exact * 1.010_001, `${found} for ${exact}`)
    }),
  )
})

test('nothing measured is 0, and what is beyond the buckets counts', () => {
  const histogram = new Histogram()
  assert.deepEqual(histogram.quantiles(), { count: 0, p50: 0, p90: 0, p99: 0, p99_9: 0, max: 0 })
  histogram.add(0)
  histogram.add(1e12)
  assert.equal(histogram.quantiles().count, 2)
  assert.equal(histogram.quantiles().max, 1e12)
})
