import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { lockCharge, sheetRest, wholeMicros } from '../../../../contract/money/lockCharge.ts'

const MICRO = 1_000
const units = fc.oneof(fc.nat(100), fc.nat(1_000_000), fc.integer({ min: 0, max: 2 ** 52 }))

test('amounts round to whole micro-tokens', () => {
  assert.deepEqual([wholeMicros(0, MICRO), wholeMicros(1, MICRO), wholeMicros(2_000, MICRO)], [0, 1_000, 2_000])
  const most = Number.MAX_SAFE_INTEGER
  assert.equal(wholeMicros(most, MICRO), most - (most % MICRO))
})

test('the sheet charges the share of a request that tokens leave, rounded up', () => {
  assert.deepEqual(lockCharge(300, 2_000, 5_000), { lockUnits: 2_000, sheetUnits: 0 })
  assert.deepEqual(lockCharge(300, 2_000, 2_000), { lockUnits: 2_000, sheetUnits: 0 })
  assert.deepEqual(lockCharge(301, 2_000, 1_000), { lockUnits: 1_000, sheetUnits: 151 })
  assert.deepEqual(lockCharge(301, 2_000, 0), { lockUnits: 0, sheetUnits: 301 })
  assert.deepEqual(lockCharge(300, 0, 1_000), { lockUnits: 0, sheetUnits: 0 })
})

test('the charge of a request within its worst case is within its hold, for every share that tokens pay', () => {
  fc.assert(
    fc.property(units, units, units, units, units, (sheetMost, lockMost, sheet, lock, held) => {
      const [worstLock, dueLock] = [wholeMicros(lockMost, MICRO), wholeMicros(Math.min(lock, lockMost), MICRO)]
      const paid = Math.min(held, worstLock)
      const heldLock = paid - (paid % MICRO)
      const rest = sheetRest(sheetMost, worstLock, heldLock)
      const charge = lockCharge(Math.min(sheet, sheetMost), dueLock, heldLock)
      assert.ok(charge.lockUnits <= heldLock && charge.lockUnits <= dueLock)
      assert.ok(charge.sheetUnits <= rest, `${charge.sheetUnits} of ${rest}`)
      assert.equal(charge.lockUnits % MICRO, 0)
      if (charge.sheetUnits > 0) assert.equal(charge.lockUnits, heldLock)
    }),
    { numRuns: 2_000 },
  )
})
