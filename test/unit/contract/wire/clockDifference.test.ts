import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClockDifference } from '../../../../contract/wire/clockDifference.ts'

const MAX_MS = 2_000
const NOW_MS = 1_000_000

/** Notes answers of Redis: how long each was waited for, and its time. @returns what was called */
function changes(answers: readonly (readonly [waitedMs: number, redisMs: number])[]): [boolean, number][] {
  const called: [boolean, number][] = []
  const clock = new ClockDifference(MAX_MS, (differs, ms) => called.push([differs, ms]))
  for (const [waitedMs, redisMs] of answers) clock.note(waitedMs, redisMs, NOW_MS)
  return called
}

test('a difference is told once, and once that it is over', () => {
  const far = NOW_MS - MAX_MS - 1
  const near = NOW_MS - MAX_MS / 2
  assert.deepEqual(
    changes([
      [0, NOW_MS],
      [0, far],
      [0, far],
      [0, near - 1],
      [0, near],
      [0, near],
    ]),
    [
      [true, MAX_MS + 1],
      [false, MAX_MS / 2],
    ],
  )
  assert.deepEqual(changes([[0, NOW_MS + 600_000]]), [[true, -600_000]])
})

test('an answer that took long says little', () => {
  assert.deepEqual(
    changes([
      [60_000, NOW_MS - 20_000],
      [60_000, NOW_MS - 31_000],
    ]),
    [],
  )
  assert.deepEqual(changes([[100, NOW_MS - 5_000]]), [[true, 4_950]])
})

test('the clocks agree before anything is known', () => {
  assert.equal(new ClockDifference(MAX_MS, () => assert.fail()).ms, 0)
})
