// Goal: what an upstream is asked and what is read of its answer follow the catalog for any input and any answer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compileInput } from '../../../../contract/tools/inputSchema.ts'
import { valueAt } from '../../../../contract/tools/pointer.ts'
import { fillTemplate, placesOf } from '../../../../contract/tools/template.ts'
import { readAnswer } from '../../../../proxy/endpoints/tools/answer.ts'
import { checkPublicUrl, mayBePublic } from '../../../../proxy/endpoints/tools/publicUrl.ts'

test('pointers resolve according to RFC 6901', () => {
  const document = { foo: ['bar', 'baz'], '': 0, 'a/b': 1, 'm~n': 8, ' ': 7 }
  const cases: [string, unknown][] = [
    ['', document],
    ['/foo', document.foo],
    ['/foo/0', 'bar'],
    ['/', 0],
    ['/a~1b', 1],
    ['/m~0n', 8],
    ['/ ', 7],
    ['/none', undefined],
    ['/foo/2', undefined],
    ['/foo/length/x', undefined],
    ['/__proto__', undefined],
    ['/constructor', undefined],
  ]
  for (const [pointer, value] of cases) assert.deepEqual(valueAt(document, pointer), value, pointer)
})

test('property: any input fills its places unchanged, and no other part changes', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (query, constant) => {
      fc.pre(placesOf(constant).length === 0)
      const template = { q: '{query}', none: '{missing}', list: ['{query}', 1], deep: { at: '{query}' }, constant }
      assert.deepEqual(fillTemplate(template, { query }), {
        q: query,
        list: [query, 1],
        deep: { at: query },
        constant: fillTemplate(constant, {}),
      })
      assert.deepEqual(placesOf(template), ['query', 'missing', 'query', 'query'])
    }),
  )
})

test('property: any response is read or rejected, with no more results than requested', () => {
  const places = {
    results: '/results',
    billed: '/billed',
    finalUrl: '/url',
    result: [['title', '/t'] as const],
    output: [['page', '/page'] as const],
  }
  const answer = fc.record(
    { results: fc.oneof(fc.array(fc.jsonValue(), { maxLength: 20 }), fc.jsonValue()), billed: fc.jsonValue() },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(answer, fc.integer({ min: 1, max: 5 }), (given, resultsMax) => {
      const read = readAnswer(given, places, resultsMax)
      assert.equal(read === null, !Array.isArray(given.results))
      if (read === null) return
      assert.ok((read.output['results'] as unknown[]).length <= resultsMax)
      assert.ok(Number.isSafeInteger(read.billed) && read.billed >= 0)
    }),
  )
})

test('defaults of a schema are filled in, and a fault names its field', () => {
  const check = compileInput({
    type: 'object',
    properties: {
      q: { type: 'string' },
      n: { type: 'integer', default: 4 },
      deep: { type: 'object', required: ['x'] },
    },
    required: ['q'],
  })
  const input = { q: 'x' }
  check(input)
  assert.deepEqual(input, { q: 'x', n: 4 })
  const param = (given: Record<string, unknown>) => {
    try {
      check(given)
      return undefined
    } catch (error) {
      return (error as { param: string | null }).param
    }
  }
  assert.equal(param({}), 'q')
  assert.equal(param({ q: 1 }), 'q')
  assert.equal(param({ q: 'x', deep: {} }), 'deep.x')
})

test('property: no notation makes a private IPv4 address public', () => {
  const byte = fc.integer({ min: 0, max: 255 })
  const inner = fc.oneof(
    fc.tuple(fc.constant(127), byte, byte, byte),
    fc.tuple(fc.constant(10), byte, byte, byte),
    fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
    fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
  )
  fc.assert(
    fc.property(inner, ([a, b, c, d]) => {
      const number = ((a * 256 + b) * 256 + c) * 256 + d
      const hex = number.toString(16).padStart(8, '0')
      for (const host of [
        `${a}.${b}.${c}.${d}`,
        `${a}.${b}.${c}.${d}.`,
        String(number),
        `0x${hex}`,
        `0${number.toString(8)}`,
        `0x${a.toString(16)}.${b}.${c * 256 + d}`,
        `[::ffff:${a}.${b}.${c}.${d}]`,
        `[64:ff9b::${hex.slice(0, 4)}:${hex.slice(4)}]`,
        `[2002:${hex.slice(0, 4)}:${hex.slice(4)}::1]`,
      ]) {
        assert.ok(!mayBePublic(`http://${host}/`), host)
      }
    }),
  )
  for (const url of ['http://93.184.215.14/', 'https://example.com/a?b#c', 'http://[2606:2800:21f:cb07::1]:8080/']) {
    assert.ok(mayBePublic(url), url)
  }
})

test('a name without an address is left to the upstream; a private one is rejected with its field', async () => {
  await checkPublicUrl('https://nothing.example.com/', 'url', 500)
  for (const value of ['http://127.0.0.1/', 7, 'nonsense', '//example.com/']) {
    await assert.rejects(checkPublicUrl(value, 'url', 500), { code: 'tool_input_invalid', param: 'url' })
  }
})

test('a name is rejected for any address of it that is not public', async () => {
  const named = (...addresses: string[]) =>
    checkPublicUrl('https://rebound.example.com/', 'url', 500, async () =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  await named('93.184.215.14', '2606:2800:21f:cb07::1')
  for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', 'fe80::1', '::ffff:10.0.0.1']) {
    await assert.rejects(named(address), { code: 'tool_input_invalid', param: 'url' })
    await assert.rejects(named('93.184.215.14', address), { code: 'tool_input_invalid' })
  }
})
