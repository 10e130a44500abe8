// Goal: quotients are exact up to their last digit, which is rounded half up.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quotient } from '../../../../control/statistics/decimal.ts'

test('quotients', () => {
  assert.equal(quotient(0n, 3n, 4), '0')
  assert.equal(quotient(1n, 3n, 6), '0.333333')
  assert.equal(quotient(2n, 3n, 6), '0.666667')
  assert.equal(quotient(3n, 2n, 4), '1.5')
  assert.equal(quotient(1n, 20_000n, 4), '0.0001')
  assert.equal(quotient(1n, 20_001n, 4), '0')
  assert.equal(quotient(99_995n, 1_000n, 2), '100')
  assert.equal(quotient(10n ** 30n + 1n, 10n ** 30n, 6), '1')
  assert.equal(quotient(200n, 1n, 4), '200')
})
