// Goal: periods have no gap and no double. Method: spans over the ends of months and years.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { daysBetween, lastDays, monthsBetween, shownDuration, shownTime } from '../../../../console/format/time.ts'

test('days and months of a span', () => {
  const now = Date.UTC(2028, 2, 1, 23)
  assert.deepEqual(lastDays(3, now), { from: '2028-02-28', to: '2028-03-01' })
  assert.deepEqual(daysBetween('2028-02-28', '2028-03-01'), ['2028-02-28', '2028-02-29', '2028-03-01'])
  assert.deepEqual(monthsBetween('2026-11-30', '2027-02-01'), ['2026-11', '2026-12', '2027-01', '2027-02'])
})

test('times and durations', () => {
  assert.equal(shownTime('2027-01-31T12:00:05.123Z'), '2027-01-31 12:00:05')
  assert.equal(shownTime('soon'), 'soon')
  assert.deepEqual([12.4, 1_420, 185_000].map(shownDuration), ['12 ms', '1.42 s', '3 min 5 s'])
})
