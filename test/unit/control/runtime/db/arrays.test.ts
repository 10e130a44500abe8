import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textArray } from '../../../../../control/runtime/db/arrays.ts'

test('array texts keep every character', () => {
  assert.equal(textArray(['a', 'b"c', 'd\\e', '', 'NULL', '{,}']), '{"a","b\\"c","d\\\\e","","NULL","{,}"}')
})
