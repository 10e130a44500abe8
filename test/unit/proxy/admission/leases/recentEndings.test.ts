import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RecentEndings } from '../../../../../proxy/admission/leases/recentEndings.ts'

test('the last endings are known, and it is said from when on none is forgotten', () => {
  const steps = fc.array(fc.nat(5), { maxLength: 30 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), steps, (max, pauses) => {
      const recent = new RecentEndings(max)
      const ended: { id: string; shard: number; atMs: number }[] = []
      let nowMs = 0
      for (const [place, pauseMs] of pauses.entries()) {
        nowMs += pauseMs
        const ending = { id: `req_${place}`, shard: place % 64, atMs: nowMs }
        recent.add(ending.id, ending.shard, nowMs)
        ended.push(ending)
      }
      for (const { id, shard } of ended.slice(-max)) assert.equal(recent.shardOf(id), shard)
      for (let ms = 0; ms <= nowMs + 1; ms++) {
        if (!recent.reachBackTo(ms)) continue
        for (const { id, shard, atMs } of ended) if (atMs >= ms) assert.equal(recent.shardOf(id), shard)
      }
      // A memory that is not full, or has lost only older ones, has to say so.
      if (ended.length < max) assert.equal(recent.reachBackTo(0), true)
      assert.equal(recent.reachBackTo(nowMs + 1), true)
    }),
  )
})
