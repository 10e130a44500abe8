import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HEADERS, Play, RESET } from '../../../../support/parts/callPlay.ts'
import { metered } from '../../../../support/parts/runWorld.ts'

test('a stream is timed by its first output, another answer by its first byte, and an attempt before by neither', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const timesOf = (streamed: boolean): number[] => {
    const play = new Play()
    const { call, world } = play
    play.metered = { ...metered, streamed }
    call.start()
    const steps = [
      () => world.call.listener.onHead(200, HEADERS),
      () => world.call.listener.onData(Buffer.from('a')),
      () => world.call.listener.onFailure(RESET),
      () => world.call.listener.onHead(200, HEADERS),
      () => world.call.listener.onData(Buffer.from('b')),
      () => call.commit(),
      () => world.call.listener.onData(Buffer.from('c')),
    ]
    return steps.map((step) => {
      t.mock.timers.tick(10)
      step()
      return call.firstByteMs
    })
  }
  assert.deepEqual(timesOf(true), [0, 0, 0, 0, 0, 60, 60])
  assert.deepEqual(timesOf(false), [0, 20, 0, 0, 50, 50, 50])
})
