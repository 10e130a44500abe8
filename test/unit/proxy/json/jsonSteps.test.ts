// Goal: JSON that is parsed in steps comes to what JSON.parse makes of it, and no step takes long.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { nestsDeeper } from '../../../../contract/std/jsonDepth.ts'
import type { Span } from '../../../../contract/std/span.ts'
import { type JsonBounds, JsonFault } from '../../../../proxy/json/jsonFault.ts'
import { jsonSteps } from '../../../../proxy/json/jsonSteps.ts'
import { limits } from '../../../support/limits.ts'

const BOUNDS: JsonBounds = {
  depthMax: limits.jsonDepthMax,
  membersMax: limits.jsonMembersMax,
  elementsMax: limits.jsonElementsMax,
}
const PIECE_BYTES = 262_144

interface Parsed {
  readonly value: unknown
  readonly strings: readonly Span[]
  /** CPU time of the process, which other processes do not lengthen. */
  readonly stepsMs: readonly number[]
}

function parse(bytes: Buffer, bounds = BOUNDS): Parsed {
  const strings: Span[] = []
  const stepsMs: number[] = []
  const steps = jsonSteps(bytes, bounds, strings)
  for (;;) {
    const before = process.cpuUsage()
    const { done, value } = steps.next()
    const { user, system } = process.cpuUsage(before)
    stepsMs.push((user + system) / 1_000)
    if (done === true) return { value, strings, stepsMs }
  }
}

function faultOf(text: string, bounds = BOUNDS): string {
  try {
    parse(Buffer.from(text), bounds)
    return ''
  } catch (error) {
    assert.ok(error instanceof JsonFault, String(error))
    return error.kind
  }
}

test('any JSON comes to what JSON.parse makes of it', () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: 'binary' }), fc.constantFrom(undefined, 1, 2), (text, indent) => {
      const printed = JSON.stringify(JSON.parse(text), null, indent)
      for (const one of [text, printed, `[${text}]`]) {
        assert.deepStrictEqual(parse(Buffer.from(`${one} `)).value, JSON.parse(one))
      }
    }),
  )
})

test('a change of one character is judged as by JSON.parse', () => {
  const characters = fc.constantFrom(...'{}[]":,\\u0e-+.tn \t\n\u0001ü')
  fc.assert(
    fc.property(fc.json(), fc.nat(), characters, (text, place, character) => {
      const at = place % text.length
      const changed = `[${text.slice(0, at)}${character}${text.slice(at + 1)}]`
      let expected: unknown
      try {
        expected = JSON.parse(changed)
      } catch {
        assert.notEqual(faultOf(changed), '', changed)
        return
      }
      assert.deepStrictEqual(parse(Buffer.from(changed)).value, expected)
    }),
    { numRuns: 2_000 },
  )
})

test('long strings are cut between characters and escapes', () => {
  const units = ['ü', '€', '😀', '\\n', '\\\\', '\\"', '\\u00fc', '\\ud83d\\ude00', 'a\\\\']
  for (const unit of units) {
    for (let shift = 0; shift < 8; shift++) {
      const text = `["${'a'.repeat(shift)}${unit.repeat(140_000)}",{"x":"${'b'.repeat(PIECE_BYTES - 5 + shift)}"}]`
      assert.deepStrictEqual(parse(Buffer.from(text)).value, JSON.parse(text), unit)
    }
  }
})

test('long strings that are values are found where they are found at once', () => {
  const long = 'x'.repeat(3_000)
  const bytes = Buffer.from(JSON.stringify({ [long]: [long, 'y', { z: `${long}"\\` }], q: 'x'.repeat(2_048) }))
  const strings: Span[] = []
  nestsDeeper(bytes, 128, strings)
  assert.equal(strings.length, 3)
  assert.deepEqual(parse(bytes).strings, strings)
})

test('a member named __proto__ is a member', () => {
  const { value } = parse(Buffer.from('{"__proto__":{"a":1},"b":2}'))
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
  assert.deepEqual(Object.entries(value as object), [
    ['__proto__', { a: 1 }],
    ['b', 2],
  ])
})

test('JSON that stops early is told from what is no JSON', () => {
  for (const text of ['', '{', '{"a', '{"a"', '{"a":', '{"a":1', '[1,', '"a\\', `"${'a'.repeat(300_000)}`]) {
    assert.equal(faultOf(text), 'incomplete', text.slice(0, 20))
  }
  for (const text of ['{]', '{"a" 1}', '[1 2]', '[01]', '[tru]', '["\\x"]', '["\n"]', '{} {}', 'hello ', '{a:1}']) {
    assert.equal(faultOf(text), 'invalid', text)
  }
})

test('depth, members, elements and names are bounded', () => {
  const bounds = { depthMax: 3, membersMax: 4, elementsMax: 5 }
  const sound = '{"a":[{"b":1}],"c":[1,2,3,4],"d":1}'
  assert.equal(faultOf(sound, bounds), '')
  assert.equal(faultOf('[[[[]]]]', bounds), 'deep')
  assert.equal(faultOf('[{"a":1,"b":2},{"a":1,"b":2,"c":3}]', bounds), 'members')
  assert.equal(faultOf('[[1,2,3],[4,5]]', bounds), 'elements')
  assert.equal(faultOf(`{"${'n'.repeat(270_000)}":1}`, bounds), 'name')
})

test('no step takes long, whatever a large body is made of', () => {
  const members = (count: number): string[] => Array.from({ length: count }, (_, i) => `"m${i}":${i}`)
  const bodies = {
    'a long string': `["${'a'.repeat(14_000_000)}"]`,
    'escaped quotes': `["${'\\"'.repeat(4_000_000)}"]`,
    backslashes: `["${'\\\\'.repeat(4_000_000)}"]`,
    'distinct names': `{${members(limits.jsonMembersMax).join(',')}}`,
    'small objects': `[${'{"a":1},'.repeat(limits.jsonMembersMax)}{}]`,
    numbers: `[${'1,'.repeat(limits.jsonElementsMax - 1)}1]`,
  }
  for (const [what, text] of Object.entries(bodies)) {
    const bytes = Buffer.from(text)
    const longest = Array.from({ length: 3 }, () => Math.max(...parse(bytes).stepsMs))
    // A step takes a few milliseconds with its share of the collection of garbage; the rest is for slow machines.
    assert.ok(Math.min(...longest) < 15, `${what}: ${longest.map((ms) => ms.toFixed(1)).join(', ')} ms`)
  }
})
