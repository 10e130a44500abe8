import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PROCESS_NAMES, type ProcessName } from '../../../../bench/results.ts'
import { ceilingOf, coresFor, firstCeiling, SPLITS, type Split } from '../../../../control/cli/ceilings.ts'

const ANY: Split = { coresMax: Number.POSITIVE_INFINITY, why: '' }
const ONE: Split = { coresMax: 1, why: '' }
const MICROS = { proxy: 80, redis: 40, control: 20, postgres: 10 }

test('the first ceiling is that of the process that exhausts its cores first, not of the most expensive one', () => {
  const splits = { proxy: ANY, redis: ONE, control: ANY, postgres: ONE }
  assert.deepEqual(firstCeiling(MICROS, splits), { process: 'redis', rate: 20_000 })
  assert.deepEqual(firstCeiling(MICROS, { ...splits, redis: ANY }), { process: 'postgres', rate: 80_000 })
  assert.equal(firstCeiling(MICROS, { ...splits, redis: ANY, postgres: ANY }), undefined)
  assert.equal(ceilingOf(40, { coresMax: 3, why: '' }), 60_000)
})

test('cores are whole, four fifths busy, and as many as can be had or not', () => {
  const splits = { proxy: ANY, redis: ONE, control: ANY, postgres: ONE }
  const at = (rate: number) => coresFor(MICROS, splits, rate).map(({ cores, possible }) => [cores, possible])
  assert.deepEqual(at(10_000), [
    [1, true],
    [1, true],
    [1, true],
    [1, true],
  ])
  assert.deepEqual(at(100_000), [
    [10, true],
    [5, false],
    [3, true],
    [2, false],
  ])
  assert.deepEqual(at(1_000_000), [
    [100, true],
    [50, false],
    [25, true],
    [13, false],
  ])
})

test('a rate takes a core that cannot be had exactly when it lies above the first ceiling', () => {
  const costs = fc.record(Object.fromEntries(PROCESS_NAMES.map((name) => [name, fc.integer({ min: 1, max: 1_000 })])))
  fc.assert(
    fc.property(costs, fc.integer({ min: 1, max: 2_000_000 }), (micros, rate) => {
      const own = micros as Record<ProcessName, number>
      const end = firstCeiling(own, SPLITS)?.rate ?? Number.POSITIVE_INFINITY
      assert.equal(
        coresFor(own, SPLITS, rate).every(({ possible }) => possible),
        rate <= end,
      )
    }),
  )
})
