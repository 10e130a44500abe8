import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { readDocumentedUsage } from '../../../../contract/money/documentedUsage.ts'
import { readStatedUsage } from '../../../../contract/money/statedUsage.ts'
import type { JsonObject } from '../../../../contract/std/jsonObject.ts'

const BOUNDS = { promptTokensMax: 1_000, outputTokensMax: 1_000 }
const count = fc.oneof(fc.integer({ min: -2, max: 30 }), fc.constantFrom(null, undefined, 0.5, '7', 2_000))
const details = (...names: string[]) =>
  fc.oneof(fc.constantFrom(null, undefined, 5, []), fc.dictionary(fc.constantFrom(...names), count, { maxKeys: 3 }))

test('the short way reads a report as the long one does, or leaves it to that', () => {
  let short = 0
  const report = fc.record({
    prompt_tokens: count,
    completion_tokens: count,
    extra: fc.integer({ min: -1, max: 3 }),
    prompt_tokens_details: details('cached_tokens', 'audio_tokens', 'cache_write_tokens'),
    completion_tokens_details: details('reasoning_tokens', 'audio_tokens', 'thinking_tokens'),
  })
  fc.assert(
    fc.property(report, ({ extra, ...counts }) => {
      const total = Number(counts.prompt_tokens) + Number(counts.completion_tokens) + Math.max(0, extra - 2)
      const value = { ...counts, total_tokens: total } as JsonObject
      const read = readDocumentedUsage(value, BOUNDS)
      if (read === null) return
      short++
      assert.deepEqual(read, readStatedUsage(value, BOUNDS))
    }),
    { numRuns: 5_000 },
  )
  assert.ok(short > 100, `${short} reports were read the short way`)
})
