import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { customArguments, customInput } from '../../../../../proxy/dialects/shared/customTools.ts'

test('the input of a custom tool is what its arguments hold', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (input) => assert.equal(customInput(customArguments(input)), input)),
  )
})

test('arguments that are cut off are a beginning of the input', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.nat(), (input, place) => {
      const whole = customArguments(input)
      const start = '{"input":"'.length
      const cut = whole.slice(0, start + (place % (whole.length - start - 1)))
      assert.ok(input.startsWith(customInput(cut)), cut)
    }),
  )
  assert.equal(customInput('{"input":"*** Begin Patch\\n+a'), '*** Begin Patch\n+a')
  assert.equal(customInput('{"input":"a\\u00'), 'a')
  assert.equal(customInput('{"input":"a\\'), 'a')
})

test('what is no such object is the input itself', () => {
  for (const text of ['ls -la', '{"a', '["input', '{"input":5']) assert.equal(customInput(text), text)
  assert.equal(customInput('{"cmd":"ls"}'), 'ls')
})
