import assert from 'node:assert/strict'
import test from 'node:test'
import { FLAG_OPTIONS, INTEGER_OPTIONS, WORD_OPTIONS } from '../../../mock/options.ts'

test('every option of the mock provider is listed once', () => {
  const names = [...INTEGER_OPTIONS, ...FLAG_OPTIONS, ...Object.keys(WORD_OPTIONS)]
  assert.deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  )
})
