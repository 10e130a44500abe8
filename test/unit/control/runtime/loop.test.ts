import assert from 'node:assert/strict'
import test from 'node:test'
import { pino } from 'pino'
import { Loop } from '../../../../control/runtime/loop.ts'
import { until } from '../../../support/until.ts'

const HOUR_MS = 3_600_000

test('a pass that says there is more is followed by another one immediately', async () => {
  let passes = 0
  const loop = new Loop('test', HOUR_MS, pino({ level: 'silent' }), async () => {
    passes++
    return passes < 3
  })
  await until('three passes', () => passes === 3)
  await loop.stop()
  assert.equal(passes, 3)
})
