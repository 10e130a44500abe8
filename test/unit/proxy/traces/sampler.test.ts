// Goal: a sampler by ratio takes that share of the traces, the same ones at every place; a parent's decision counts where
// the sampler says so, and only there.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { samplerOf } from '../../../../proxy/traces/sampler.ts'
import { newTraceId } from '../../../../proxy/traces/traceIds.ts'

/** Ids that are spread evenly over the range of what is random in them. */
const COUNT = 1_000
const ids = Array.from({ length: COUNT }, (_, i) => {
  const digits = Math.floor(((i + 0.5) / COUNT) * 16 ** 13)
  return `${'a'.repeat(19)}${digits.toString(16).padStart(13, '0')}`
})
const share = (name: Parameters<typeof samplerOf>[0], ratio: number, parent?: boolean): number =>
  ids.filter((id) => samplerOf(name, ratio)(id, parent)).length / COUNT

test('a ratio takes its share', () => {
  for (const ratio of [0, 0.001, 0.01, 0.5, 0.999, 1]) {
    assert.equal(share('traceidratio', ratio), ratio)
    assert.equal(share('parentbased_traceidratio', ratio), ratio)
  }
  assert.equal(share('always_on', 0), 1)
  assert.equal(share('parentbased_always_on', 0), 1)
  assert.equal(share('parentbased_always_off', 1), 0)
})

test('a greater ratio takes all that a smaller one takes', () => {
  const [small, great] = [samplerOf('traceidratio', 0.1), samplerOf('traceidratio', 0.3)]
  for (const id of ids) assert.ok(!small(id, undefined) || great(id, undefined))
})

test('the decision of a parent counts for samplers that are based on it', () => {
  for (const name of ['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'] as const) {
    assert.deepEqual([share(name, 0.5, true), share(name, 0.5, false)], [1, 0])
  }
  assert.deepEqual([share('traceidratio', 0.5, true), share('traceidratio', 0.5, false)], [0.5, 0.5])
  assert.deepEqual([share('always_on', 0, false)], [1])
})

test('ids of traces are 32 hex digits, and none comes twice', () => {
  const made = Array.from({ length: 2_000 }, newTraceId)
  assert.equal(new Set(made).size, made.length)
  for (const id of made) assert.match(id, /^(?!0{32})[0-9a-f]{32}$/)
})
