import assert from 'node:assert/strict'
import test from 'node:test'
import { WakeableSleep } from '../../../../contract/std/wakeableSleep.ts'

const LONG_MS = 60_000

test('a wake ends the sleep, or the next one, and only that', async () => {
  const pause = new WakeableSleep()
  const asleep = pause.sleep(LONG_MS)
  pause.wake()
  await asleep
  pause.wake()
  pause.wake()
  await pause.sleep(LONG_MS)
  let isOver = false
  const third = pause.sleep(LONG_MS).then(() => {
    isOver = true
  })
  await new Promise(setImmediate)
  assert.equal(isOver, false)
  pause.wake()
  await third
})

test('a discarded wake does not shorten the next sleep', async () => {
  const pause = new WakeableSleep()
  pause.wake()
  pause.forget()
  let isOver = false
  const asleep = pause.sleep(LONG_MS).then(() => {
    isOver = true
  })
  await new Promise(setImmediate)
  assert.equal(isOver, false)
  pause.wake()
  await asleep
})
