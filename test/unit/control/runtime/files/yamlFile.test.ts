// Goal: whatever is wrong with a file of an operator is told with the line it stands in and what to change.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileSchema } from '../../../../../contract/schemas/schemaFaults.ts'
import { FileError, YamlFile } from '../../../../../control/runtime/files/yamlFile.ts'

const check = compileSchema({
  type: 'object',
  required: ['name'],
  additionalProperties: false,
  dependentRequired: { low: ['high'] },
  properties: {
    name: { type: 'string', pattern: '^[a-z]+$', errorMessage: 'must be a lower-case word' },
    usd: { type: 'string', format: 'usd', errorMessage: 'must be a decimal string of USD' },
    low: { type: 'integer' },
    high: { type: 'integer' },
    on: { type: 'boolean', default: true },
    kind: { enum: ['a', 'b'] },
    words: { type: 'array', uniqueItems: true, items: { type: 'string' } },
    inner: {
      type: 'object',
      properties: { deep: { type: 'object', required: ['leaf'], properties: { leaf: { type: 'integer' } } } },
    },
  },
})

function problemsOf(text: string): readonly string[] {
  try {
    new YamlFile('f.yaml', text, 'the file').content(check)
    return []
  } catch (error) {
    assert.ok(error instanceof FileError, String(error))
    return error.problems
  }
}

const CASES: [what: string, text: string, problem: string][] = [
  ['an empty file', '', 'f.yaml:1: the file must be a map of names to values'],
  ['a list in place of a map', '- 1', 'f.yaml:1: the file must be a map of names to values'],
  ['a missing member', '# nothing\non: true', 'f.yaml:1: name is missing'],
  ['a missing member below', 'name: a\ninner:\n  deep: {}', 'f.yaml:3: inner.deep.leaf is missing'],
  ['an unknown member', 'name: a\n\nnmae: b', 'f.yaml:3: nmae is not a known key; known here: name, usd, low, high,'],
  ['a wrong text', 'on: true\nname: B', 'f.yaml:2: name must be a lower-case word'],
  ['a text of another type', 'name: 12', 'f.yaml:1: name must be a lower-case word'],
  ['no word of the list', 'name: a\nkind: c', 'f.yaml:2: kind must be one of: a, b'],
  ['no switch', 'name: a\non: "true"', 'f.yaml:2: on must be true or false'],
  ['no list', 'name: a\nwords: x', 'f.yaml:2: words must be a list'],
  ['a wrong item', 'name: a\nwords:\n  - x\n  - 1', 'f.yaml:4: words[1] must be string'],
  ['an item twice', 'name: a\nwords:\n  - x\n  - y\n  - x', 'f.yaml:5: words[2] repeats x'],
  ['half of a pair', 'name: a\nlow: 1', 'f.yaml:1: the file has low but no high'],
  ['an amount as a number', 'name: a\nusd: 0.1', 'f.yaml:2: usd must be a decimal string of USD'],
  ['an amount with an exponent', 'name: a\nusd: 1e-7', 'f.yaml:2: usd must be a decimal string of USD'],
  ['an amount in quotes with an exponent', 'name: a\nusd: "1e-7"', 'f.yaml:2: usd must be a decimal string of USD'],
  ['an amount that is too large', 'name: a\nusd: "9007199.254740992"', 'f.yaml:2: usd must be a decimal string of USD'],
  ['a value behind an alias', 'name: &n B\nkind: *n', 'f.yaml:2: kind must be one of: a, b'],
  ['a circle', 'name: a\ninner: &i\n  deep: *i', 'f.yaml:3: *i stands within what it refers to'],
  ['an alias of nothing', 'name: a\nkind: *x', 'f.yaml:2: *x refers to no anchor before it'],
  ['a member twice', 'name: a\nname: b', 'f.yaml:2: Map keys must be unique'],
  ['no YAML', 'name: [a', 'f.yaml:1: '],
]
for (const [what, text, problem] of CASES) {
  test(`reported with its line: ${what}`, () => {
    const problems = problemsOf(text)
    assert.ok(
      problems.some((found) => found.startsWith(problem)),
      problems.join('\n'),
    )
  })
}

test('every problem is reported once, in the order of the lines, up to a readable number', () => {
  const text = `kind: c\n${'words: x\n'.repeat(1)}low: x\nhigh: x\non: 1`
  assert.deepEqual(
    problemsOf(text).map((problem) => problem.split(': ')[0]),
    ['f.yaml:1', 'f.yaml:1', 'f.yaml:2', 'f.yaml:3', 'f.yaml:4', 'f.yaml:5'],
  )
  assert.equal(problemsOf(Array.from({ length: 500 }, (_, index) => `k${index}: 1`).join('\n')).length, 20)
})

test('defaults are filled in, and the exact text of an amount is preserved', () => {
  const file = new YamlFile('f.yaml', 'name: a\nusd: "0.100000000"', 'the file')
  assert.deepEqual(file.content(check), { name: 'a', usd: '0.100000000', on: true })
})

test('an anchor may be used as often as a large file needs', () => {
  const uses = Array.from({ length: 1_000 }, (_, index) => `  - &w${index} w${index}\n`).join('')
  const file = new YamlFile('f.yaml', `name: &n a\nwords:\n${uses}kind: *n`, 'the file')
  assert.equal((file.content(check) as { kind: string }).kind, 'a')
})
