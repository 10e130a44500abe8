// Goal: what is passed as a value is one for every parser, and the other way round. Method: texts with single characters
// changed, and forms that parsers disagree about, beside JSON.parse.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { soundValueEnd } from '../../../../proxy/json/soundJson.ts'
import { rounds } from '../../../support/rounds.ts'

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const isSound = (text: string): boolean => {
  const bytes = Buffer.from(text)
  return soundValueEnd(bytes, 0, bytes.length) === bytes.length
}

const CHARACTERS = [...'{}[]",:\\/u0129.eE+-tfn ax\u0000\n\t\r\u00e9']

test('property: a changed text is sound exactly where it can be parsed', () => {
  const change = fc.record({
    at: fc.nat(),
    remove: fc.nat(2),
    insert: fc.array(fc.constantFrom(...CHARACTERS), { maxLength: 2 }),
  })
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(change, { maxLength: 3 }), (value, changes) => {
      let text = JSON.stringify(value)
      for (const { at, remove, insert } of changes) {
        const place = at % (text.length + 1)
        text = text.slice(0, place) + insert.join('') + text.slice(place + remove)
      }
      // Blanks around the value are the caller's.
      fc.pre(text === text.trim() && Buffer.from(text).toString() === text)
      assert.equal(isSound(text), parses(text), text)
    }),
    { numRuns: rounds({ short: 8_000, long: 500_000 }) },
  )
})

const FORMS = [
  '0',
  '-0',
  '01',
  '+1',
  '1.',
  '.5',
  '1.5e',
  '1e+',
  '1E-07',
  '-',
  '--1',
  '0x1',
  '1_0',
  'NaN',
  'Infinity',
  '-Infinity',

  'true',
  'True',
  'nul',
  'nulls',
  'undefined',
  '',
  "'a'",
  '"a',
  '"\t"',
  '"\\x41"',
  '"\\u12G4"',
  '"\\u123"',
  '"\\u1234"',

  '[1,]',
  '[,1]',
  '[1 2]',
  '[',
  ']',
  '{"a":1,}',
  '{a:1}',
  '{"a" 1}',
  '{"a":}',
  '{"a":1 "b":2}',
  '{]',
  '[}',
  '{"a":1}}',
  '[ 1 , {"a" : [ ] } ]',
  '{"a":Pc"}',
  '{"a":1/*x*/}',
  '"\u007f"',
  '"\u2028"',
  '\u00a01',
  '[1\u00a0]',
]

test('forms that parsers disagree about are sound exactly where they can be parsed', () => {
  for (const text of FORMS) assert.equal(isSound(text), parses(text), JSON.stringify(text))
})

test('a value ends where its bytes do, and is bounded in depth', () => {
  const bytes = Buffer.from('{"a":"\\u00e9"} ,"b"')
  assert.equal(soundValueEnd(bytes, 0, bytes.length), 14)
  for (let end = 0; end < 14; end++) assert.equal(soundValueEnd(bytes, 0, end), -1, String(end))
  assert.ok(isSound('['.repeat(128) + ']'.repeat(128)))
  assert.ok(!isSound('['.repeat(129) + ']'.repeat(129)))
  assert.ok(!isSound('{"a":'.repeat(100_000)))
})
