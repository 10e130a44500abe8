import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tickInSlots } from '../../../../../proxy/admission/leases/shardTicks.ts'

const EVERY_MS = 40

test('every shard ticks once in an interval, a quarter of them at a time', (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'setImmediate'] })
  const shards = Array.from({ length: 64 }, () => ({
    ticks: 0,
    tick() {
      this.ticks++
    },
  }))
  const timer = tickInSlots(shards, EVERY_MS)
  const ticks = (): number[] => shards.map((shard) => shard.ticks)
  for (let slot = 1; slot <= 8; slot++) {
    t.mock.timers.tick(EVERY_MS / 4)
    assert.equal(
      ticks().reduce((sum, count) => sum + count),
      16 * slot,
    )
    if (slot === 4) assert.deepEqual(new Set(ticks()), new Set([1]))
  }
  assert.deepEqual(new Set(ticks()), new Set([2]))
  clearInterval(timer)
})
