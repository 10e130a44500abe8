// Goal: names of members with escapes are read right whatever JSON came before, in engines that do not do so by themselves, too. Method:
// the parser below sees no escaped name; texts spell names in random ways. Under Node.js 24 the engine itself has the fault.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { mendJsonNames, withSoundNames } from '../../../../contract/std/jsonNames.ts'

/** The strings of JSON, each with the colon after it that shows that it is a name. */
const STRINGS = /"((?:[^"\\]|\\.)*)"(\s*:)?/gs

/** The parser of the engine, which must not get what it may misread. */
const native = (text: string): unknown => {
  for (const [, literal = '', colon] of text.matchAll(STRINGS))
    assert.ok(colon === undefined || !literal.includes('\\'), literal)
  return JSON.parse(text)
}
const parse = withSoundNames(native)

const hex = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`

/** JSON of a value whose names have some of their characters escaped. @param escapes whether the next one is, in turn */
function spelt(value: unknown, escapes: () => boolean): string {
  if (Array.isArray(value)) return `[${value.map((each) => spelt(each, escapes)).join(' , ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, each]) => {
    const units = Array.from({ length: name.length }, (_, i) => name.charCodeAt(i))
    const plain = (unit: number): string => JSON.stringify(String.fromCharCode(unit)).slice(1, -1)
    return `"${units.map((unit) => (escapes() ? hex(unit) : plain(unit))).join('')}" : ${spelt(each, escapes)}`
  })
  return `{${members.join(',')}}`
}

const name = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.constantFrom('\\', '\\u0', '"', '\n', 'a\\', '__proto__', '1', '\\"'),
)
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(name, fc.integer(), fc.constant(null), fc.constantFrom('a": 1', '\\": ')),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))

test('names are what their escapes say, in their order', () => {
  fc.assert(
    fc.property(value, fc.array(fc.boolean(), { minLength: 1 }), (said, turns) => {
      let turn = 0
      const text = spelt(said, () => turns[turn++ % turns.length] === true)
      assert.equal(JSON.stringify(parse(text)), JSON.stringify(said))
    }),
    { numRuns: 500 },
  )
})

test('the last of several members with one name counts, however each spells it', () => {
  assert.deepEqual(parse('{"a\\n":1,"b":2,"a\\u000a":3}'), { 'a\n': 3, b: 2 })
  assert.deepEqual(parse('{"a":1,"\\u0061":{"\\u0062":[{"\\/":1}]}}'), { a: { b: [{ '/': 1 }] } })
})

test('what is no JSON is refused', () => {
  for (const text of [
    '{"\\x":1}',
    '{"\\n:1}',
    '{"\\n"}',
    '["\\n":1]',
    '{"\\n":1',
    '{"a\n\\n":1}',
    '\\',
    '"\\',
    '{"\\n" :1,}',
  ])
    assert.throws(() => parse(text), SyntaxError, text)
})

test('JSON that an earlier text would garble is read right by the programs', () => {
  mendJsonNames()
  const garbled: string[] = []
  const names = ['\\', '"', '\n', '\u0001', '\\"', '\\u', '\\u0', '\\u540d', 'n']
  for (const before of names) {
    for (const after of names) {
      for (const first of ['type', 'a"', '\\']) {
        JSON.parse(`{${JSON.stringify(first)}:1,${JSON.stringify(before)}:2}`)
        const text = `{${JSON.stringify(first)}:1,"${Array.from(after, (c) => hex(c.charCodeAt(0))).join('')}":2}`
        const read = JSON.stringify(Object.entries(JSON.parse(text) as object))
        if (read !== JSON.stringify(Object.entries({ [first]: 1, [after]: 2 }))) garbled.push(`${text}: ${read}`)
      }
    }
  }
  assert.deepEqual(garbled, [])
})

test('long texts are read in one pass', { timeout: 60_000 }, () => {
  const many = 300_000
  for (const text of [
    `["\\n",${'"a",'.repeat(many)}{"\\n":1}]`,
    `["${'\\\\'.repeat(many)}",{"\\n":1}]`,
    `["${'\\"'.repeat(many)}",{"\\n":1}]`,
    `[${'{"\\n":1},'.repeat(many / 10)}0]`,
    `${'['.repeat(1_000)}{"\\n":1}${']'.repeat(1_000)}`,
  ])
    assert.equal(JSON.stringify(withSoundNames(JSON.parse)(text)), JSON.stringify(JSON.parse(text)))
})
