import assert from 'node:assert/strict'
import { test } from 'node:test'
import { windowsAt } from '../../../../control/admission/windows.ts'

test('windows equal those of hold.lua', () => {
  // 2024-02-29T23:59:59Z
  const windows = windowsAt(1_709_251_199_000)
  assert.deepEqual([windows.hour, windows.day, windows.month], [474_791, 19_782, 54 * 12 + 1])
  assert.equal(windows.dayFirstHour, 19_782 * 24)
  assert.equal(windows.monthFirstHour * 3_600_000, Date.UTC(2024, 1, 1))
})
