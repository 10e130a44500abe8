import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { nestsDeeper } from '../../../../contract/std/jsonDepth.ts'

/** How deep a value nests: 0 for what has no brackets. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

test('the depth of a text equals that of its value for any strings and any length', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('[[[[{{', '\\"]', '"[', '\\\\'))
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'large' },
      text,
      fc.integer(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(text, tie('value'), { maxKeys: 3 }),
    ),
  }))
  // The long way is taken by longer texts alone.
  const padding = fc.constantFrom('', '['.repeat(3_000))
  fc.assert(
    fc.property(value, padding, (inner, pad) => {
      const whole = [pad, inner]
      const bytes = Buffer.from(JSON.stringify(whole))
      const depth = depthOf(whole)
      assert.equal(nestsDeeper(bytes, depth), false)
      assert.equal(nestsDeeper(bytes, depth - 1), true)
    }),
    { numRuns: 2_000 },
  )
})
