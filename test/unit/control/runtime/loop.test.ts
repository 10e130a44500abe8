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

test('a pass that fails on and on is a line of the log at its start, not one each time', async () => {
  const lines: Record<string, unknown>[] = []
  const log = pino({ base: {} }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  let passes = 0
  const loop = new Loop('test', 1, log, async () => {
    passes++
    throw new Error('refused')
  })
  await until('it has failed ten times', () => passes >= 10)
  await loop.stop()
  assert.deepEqual(
    lines.map(({ event, task }) => [event, task]),
    [['loop_failed', 'test']],
  )
})
