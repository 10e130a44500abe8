import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isoTime } from '../../../../contract/money/isoTime.ts'

test('times are formatted like Date, in any order', () => {
  const time = fc.oneof(fc.nat({ max: 3_000 }), fc.nat({ max: 4_102_444_800_000 }))
  fc.assert(
    fc.property(fc.array(time, { maxLength: 5 }), (times) => {
      assert.deepEqual(
        times.map(isoTime),
        times.map((ms) => new Date(ms).toISOString()),
      )
    }),
    { numRuns: 2_000 },
  )
})
