// How long a registered provider is waited for: by output, not by bytes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OutputTimer } from '../../../../proxy/upstream/outputTimer.ts'

const registered = { model: 'test/small', firstOutputMaxMs: 5_000 }
const TOTAL_MS = 600_000

interface Case {
  readonly what: string
  readonly tokens: number
  readonly lateMs: number
}

const CASES: readonly Case[] = [
  { what: 'a stream has twice the bar', tokens: 0, lateMs: 10_000 },
  { what: 'a whole answer has the time of its tokens too', tokens: 100, lateMs: 15_000 },
  { what: 'another route has half of the time at least', tokens: 32_000, lateMs: 300_000 },
]

for (const { what, tokens, lateMs } of CASES) {
  test(what, (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let late = 0
    new OutputTimer(registered, tokens, TOTAL_MS, () => late++)
    t.mock.timers.tick(lateMs - 1)
    assert.equal(late, 0)
    t.mock.timers.tick(1)
    assert.equal(late, 1)
  })
}

test('each output has as long as the first one, and none is awaited after the end', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let late = 0
  const timer = new OutputTimer(registered, 0, TOTAL_MS, () => late++)
  for (let i = 0; i < 3; i++) {
    t.mock.timers.tick(9_999)
    timer.again()
  }
  assert.equal(late, 0)
  timer.stop()
  t.mock.timers.tick(TOTAL_MS)
  assert.equal(late, 0)
  timer.again()
  t.mock.timers.tick(10_000)
  assert.equal(late, 1)
})
