import assert from 'node:assert/strict'
import { test } from 'node:test'
import { progressLine } from '../../../../control/cli/auditProgress.ts'

test('a progress line shows the position, the rate and the remaining time of an audit', () => {
  assert.equal(progressLine(500, 2_000, 1_000), '500 of 2000 rows (25 %), 500 a second, 3 s left')
  assert.equal(progressLine(1_000, 100_000, 1_000), '1000 of 100000 rows (1 %), 1000 a second, 1 min 39 s left')
  assert.equal(progressLine(1_000, 8_000_000, 1_000), '1000 of 8000000 rows (0 %), 1000 a second, 2 h 13 min left')
})

test('an audit that has read no entries shows no remaining time', () => {
  assert.equal(progressLine(0, 2_000, 1_000), '0 of 2000 rows (0 %), 0 a second')
  assert.equal(progressLine(0, 0, 0), '0 of 0 rows (100 %), 0 a second')
})
