import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { nestsDeeper, stringEnd } from '../../../../contract/std/jsonDepth.ts'

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

test('a string ends at its first quote that is not escaped, however many are', () => {
  const part = fc.constantFrom('a', '\\"', '\\\\', '\\u0022', '\u754c', '\\"'.repeat(900), 'a'.repeat(900))
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), fc.string(), (parts, behind) => {
      const text = parts.join('')
      const bytes = Buffer.from(`"${text}"${behind}`)
      assert.equal(stringEnd(bytes, 1), 1 + Buffer.byteLength(text))
      assert.equal(stringEnd(bytes.subarray(0, 1 + Buffer.byteLength(text)), 1), -1)
    }),
    { numRuns: 1_000 },
  )
})
