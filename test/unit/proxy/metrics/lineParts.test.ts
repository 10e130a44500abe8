// Goal: the parts of a line of the access log are those that JSON.stringify and Date print, whatever was printed before them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LineParts, usageText } from '../../../../proxy/metrics/lineParts.ts'

test('times are those of Date, in any order', () => {
  const parts = new LineParts(10)
  const near = fc.integer({ min: 1_764_000_000_000, max: 1_764_000_003_000 })
  fc.assert(
    fc.property(fc.oneof(near, fc.nat(4_000_000_000_000), fc.double({ min: 0, max: 1e12, noNaN: true })), (atMs) => {
      assert.equal(parts.time(atMs), new Date(atMs).toISOString())
    }),
  )
})

test('names are those of JSON, also beyond the number that is kept', () => {
  const parts = new LineParts(3)
  fc.assert(
    fc.property(fc.option(fc.oneof(fc.constantFrom('a', 'b"', ''), fc.string({ unit: 'binary' }))), (name) => {
      assert.equal(parts.name(name), JSON.stringify(name))
    }),
  )
})

test('tokens have every member', () => {
  const usage = { input: 1, cachedInput: 2, cacheWrite5m: 3, cacheWrite1h: 4, output: 5, reasoning: 6 }
  assert.equal(usageText(usage), JSON.stringify(usage))
})
