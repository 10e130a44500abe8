import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Faults } from '../../../../control/audit/check.ts'

test('a check without faults says what was checked', () => {
  assert.deepEqual(new Faults().check('sums', '12 receipts'), { name: 'sums', ok: true, detail: '12 receipts' })
})

const DETAILS: [count: number, detail: string][] = [
  [1, 'f1'],
  [5, 'f1; f2; f3; f4; f5'],
  [6, 'f1; f2; f3; f4; f5, and 1 more'],
  [1_000, 'f1; f2; f3; f4; f5, and 995 more'],
]
for (const [count, detail] of DETAILS) {
  test(`of ${count} faults five are shown at most, and all are counted`, () => {
    const faults = new Faults()
    for (let i = 1; i <= count; i++) faults.add(`f${i}`)
    assert.deepEqual(faults.check('sums', '12 receipts'), { name: 'sums', ok: false, detail })
    assert.equal(faults.count, count)
  })
}
