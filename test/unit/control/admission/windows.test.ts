// Goal: windows consist of whole hours, follow one another without a gap, and are those of the calendar, UTC.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { WINDOW, WINDOWS } from '../../../../contract/money/windows.ts'
import { endMsOf, windowsAt, windowsOf } from '../../../../control/admission/windows.ts'

const HOUR_MS = 3_600_000

test('the windows of a moment are those of the calendar', () => {
  // 2024-02-29T23:59:59Z
  const windows = windowsAt(1_709_251_199_000)
  assert.deepEqual([windows.hour.number, windows.day.number, windows.month.number], [474_791, 19_782, 54 * 12 + 1])
  assert.equal(windows.day.firstHour, 19_782 * 24)
  assert.equal(windows.month.firstHour * HOUR_MS, Date.UTC(2024, 1, 1))
  for (const window of WINDOWS) assert.equal(endMsOf(windows[window]), Date.UTC(2024, 2, 1), window)
  assert.deepEqual(windowsOf(474_791, windows), WINDOWS)
  assert.deepEqual(windowsOf(474_790, windows), WINDOWS.slice(1))
  assert.deepEqual(windowsOf(474_792, windows), [])
})

test('every hour is in one window of each kind, whose hours all have its number', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), (hour) => {
      for (const window of WINDOWS) {
        const { numberOf, firstHour } = WINDOW[window]
        const number = numberOf(hour)
        const [first, end] = [firstHour(number), firstHour(number + 1)]
        assert.ok(first <= hour && hour < end, window)
        assert.deepEqual([numberOf(first), numberOf(end - 1), numberOf(end)], [number, number, number + 1], window)
      }
    }),
  )
})
