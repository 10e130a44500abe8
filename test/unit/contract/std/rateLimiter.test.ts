import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { RateLimiter } from '../../../../contract/std/rateLimiter.ts'

const RATE = { perMinute: 60, burst: 5 }

test('a burst passes, then one a second, and the reported wait is sufficient', () => {
  const limiter = new RateLimiter(RATE, 10)
  for (let i = 0; i < 5; i++) assert.equal(limiter.take('a', 0), 0)
  const waitMs = limiter.take('a', 0)
  assert.equal(waitMs, 1_000)
  assert.ok(limiter.take('a', waitMs - 1) > 0)
  assert.equal(limiter.take('a', waitMs), 0)
  assert.equal(limiter.take('b', 0), 0, 'names do not disturb each other')
})

test('no more than the burst and the rate pass at any arrival times', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 200 }), (gaps) => {
      const limiter = new RateLimiter(RATE, 10)
      const passed: number[] = []
      let nowMs = 0
      for (const gap of gaps) {
        nowMs += gap
        if (limiter.take('a', nowMs) === 0) passed.push(nowMs)
      }
      for (const [i, fromMs] of passed.entries()) {
        for (let j = i; j < passed.length; j++) {
          const spanMs = (passed[j] ?? 0) - fromMs
          assert.ok(j - i + 1 <= RATE.burst + Math.floor(spanMs / 1_000) + 1)
        }
      }
    }),
  )
})

test('it remembers a bounded number of names, the most recently used', () => {
  const limiter = new RateLimiter({ perMinute: 1, burst: 1 }, 3)
  for (const name of ['a', 'b', 'c', 'd']) assert.equal(limiter.take(name, 0), 0)
  assert.ok(limiter.take('d', 0) > 0)
  assert.equal(limiter.take('a', 0), 0, 'forgotten')
})
