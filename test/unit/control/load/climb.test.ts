import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bendOf, climbRates, climbReport, type Step } from '../../../../control/load/climb.ts'
import { limits } from '../../../support/limits.ts'

const step = (rate: number, p99: number, failed = 0): Step => {
  return { rate, good_per_second: rate, answers: 1_000, failed, p99_first_token_ms: p99, p99_total_ms: p99 }
}

test('rates climb by a quarter and end at the highest one', () => {
  assert.deepEqual(climbRates({ from: 100, to: 200 }, limits), [100, 125, 156, 195, 200])
  assert.deepEqual(climbRates({ from: 1, to: 3 }, limits), [1, 2, 3])
  assert.deepEqual(climbRates({ from: 5, to: 5 }, limits), [5])
  const many = climbRates({ from: 1, to: 100_000 }, { ...limits, loadClimbPercent: 1 })
  assert.equal(many.length, limits.loadClimbStepsMax)
  assert.equal(many.at(-1), 100_000)
})

test('a p99 bends where it is more than twice and more than 50 ms above the first one', () => {
  const first = step(100, 40)
  assert.equal(bendOf(first, step(200, 90), limits), undefined)
  assert.match(bendOf(first, step(200, 91), limits) ?? '', /at 200 a second the p99/)
  assert.equal(bendOf(step(100, 400), step(200, 799), limits), undefined)
  assert.match(bendOf(first, step(200, 40, 11), limits) ?? '', /11 of 1000 requests failed/)
  assert.equal(bendOf(first, step(200, 40, 10), limits), undefined)
})

test('the rate before the bend is carried', () => {
  assert.equal(climbReport([step(1, 1), step(2, 99)], 'bend').carried_rate, 1)
  assert.equal(climbReport([step(1, 1)], 'bend').carried_rate, null)
  assert.equal(climbReport([step(1, 1), step(2, 1)], undefined).carried_rate, 2)
})
