// What a registered provider may report: its own words about reasoning or cache writes never loosen the bound.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_USAGE } from '../../../../../contract/money/charge.ts'
import { isBeyondCount, isOverReport, withoutCacheWrites } from '../../../../../proxy/endpoints/chat/registeredUsage.ts'

const counted = { prompt: 10, output: 4, outputMax: 32_000 }

test('output that is called reasoning is bounded like any other', () => {
  const usage = { ...NO_USAGE, input: 10, output: 16_000, reasoning: 15_996 }
  assert.equal(isBeyondCount(usage, counted), true)
  assert.equal(isOverReport(usage, counted, false), true)
  // A model that thinks may hide its reasoning: it is not charged, and does not speak against the provider.
  assert.equal(isOverReport(usage, counted, true), false)
})

test('a report near the count is believed', () => {
  assert.equal(isBeyondCount({ ...NO_USAGE, input: 31, output: 22 }, counted), false)
  assert.equal(isBeyondCount({ ...NO_USAGE, input: 32, output: 4 }, counted), true)
  assert.equal(isBeyondCount({ ...NO_USAGE, input: 10, output: 23 }, counted), true)
  assert.equal(isBeyondCount({ ...NO_USAGE, cacheWrite1h: 32 }, counted), true)
})

test('no report has more output than was asked for', () => {
  const asked = { ...counted, outputMax: 8 }
  assert.equal(isBeyondCount({ ...NO_USAGE, input: 10, output: 8 }, asked), false)
  assert.equal(isBeyondCount({ ...NO_USAGE, input: 10, output: 9 }, asked), true)
  assert.equal(isOverReport({ ...NO_USAGE, input: 10, output: 9 }, asked, false), true)
})

test('cache writes are charged as input', () => {
  const usage = { ...NO_USAGE, input: 1, cachedInput: 2, cacheWrite5m: 3, cacheWrite1h: 4, output: 5 }
  assert.deepEqual(withoutCacheWrites(usage), { ...NO_USAGE, input: 8, cachedInput: 2, output: 5 })
})
