// Goal: a CSV file reads back as it was shown, and no cell runs as a formula. Method: examples, and a reader of RFC 4180.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvText } from '../../../../console/format/csv.ts'
import { readCsv } from '../../../support/csv.ts'

test('cells with commas, quotes and line ends read back', () => {
  const rows = [['a,b', 'say "x"', 'two\nlines', 5]]
  assert.deepEqual(readCsv(csvText(['one', 'two', 'three', 'four'], rows)), [
    { one: 'a,b', two: 'say "x"', three: 'two\nlines', four: '5' },
  ])
})

test('a text that would be a formula is marked as text; negative numbers are left as they are', () => {
  assert.equal(csvText(['x', 'y'], [['=1+1', '-0.5']]), "x,y\r\n'=1+1,-0.5\r\n")
})
