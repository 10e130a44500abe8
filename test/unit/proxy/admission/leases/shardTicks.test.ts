import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tickInSlots } from '../../../../../proxy/admission/leases/shardTicks.ts'

const EVERY_MS = 40
const REST_MS = 400

class Shard {
  ticks = 0
  isBusy = false

  tick(): boolean {
    this.ticks++
    return this.isBusy
  }
}

const newShards = (): Shard[] => Array.from({ length: 64 }, () => new Shard())
const ticksOf = (shards: readonly Shard[]): number[] => shards.map(({ ticks }) => ticks)

test('every shard ticks once in an interval, a quarter of them at a time', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] })
  const shards = newShards()
  const timer = tickInSlots(shards, EVERY_MS, REST_MS)
  for (let slot = 1; slot <= 8; slot++) {
    t.mock.timers.tick(EVERY_MS / 4)
    assert.equal(
      ticksOf(shards).reduce((sum, count) => sum + count),
      16 * slot,
    )
    if (slot === 4) assert.deepEqual(new Set(ticksOf(shards)), new Set([1]))
  }
  assert.deepEqual(new Set(ticksOf(shards)), new Set([2]))
  timer.stop()
})

test('all shards tick together and seldom while none has anything to do, and one with something wakes them', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] })
  const shards = newShards()
  const timer = tickInSlots(shards, EVERY_MS, REST_MS)
  const rested = (ms: number): number => {
    const before = shards[5]?.ticks ?? 0
    for (let at = 0; at < ms; at++) t.mock.timers.tick(1)
    return (shards[5]?.ticks ?? 0) - before
  }
  assert.equal(rested(4 * EVERY_MS), 4)
  assert.equal(rested(10 * REST_MS), 10)
  const [first] = shards
  assert.ok(first !== undefined)
  first.isBusy = true
  rested(REST_MS)
  assert.equal(rested(10 * EVERY_MS), 10)
  timer.stop()
  assert.equal(rested(10 * REST_MS), 0)
})
