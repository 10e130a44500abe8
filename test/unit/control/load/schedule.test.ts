import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Schedule } from '../../../../control/load/schedule.ts'

test('requests are due evenly spaced, none before the start and none beyond their number', () => {
  const schedule = new Schedule(1_000, 4, 2, Number.POSITIVE_INFINITY)
  assert.equal(schedule.count, 8)
  assert.deepEqual(
    [0, 1, 7].map((place) => schedule.dueMs(place)),
    [1_000, 1_250, 2_750],
  )
  assert.deepEqual(
    [999, 1_000, 1_249, 1_250, 9_999].map((ms) => schedule.dueBy(ms)),
    [0, 1, 1, 2, 8],
  )
  for (let place = 0; place < schedule.count; place++) assert.equal(schedule.dueBy(schedule.dueMs(place)), place + 1)
})

test('a schedule has at least one request and at most as many as are allowed', () => {
  assert.equal(new Schedule(0, 1, 0.1, 10).count, 1)
  assert.equal(new Schedule(0, 100, 10, 7).count, 7)
})
