// Goal: a traceparent is taken if and only if it has the form of the W3C recommendation; whatever a client sends, nothing
// throws, and what is sent on is well-formed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readTraceParent, readTraceState, writeTraceParent } from '../../../../proxy/traces/traceContext.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const parent = (isSampled: boolean) => ({ traceId: TRACE, spanId: SPAN, isSampled })
const hex = (digits: number) =>
  fc.array(fc.constantFrom(...'0123456789abcdef'), { minLength: digits, maxLength: digits })

test('well-formed contexts are read', () => {
  assert.deepEqual(readTraceParent(`00-${TRACE}-${SPAN}-01`), parent(true))
  assert.deepEqual(readTraceParent(`00-${TRACE}-${SPAN}-00`), parent(false))
  assert.deepEqual(readTraceParent(`00-${TRACE}-${SPAN}-03`), parent(true))
  assert.deepEqual(readTraceParent(`00-${TRACE}-${SPAN}-fe`), parent(false))
  // A version that is not known yet may have more at the end.
  assert.deepEqual(readTraceParent(`cc-${TRACE}-${SPAN}-01`), parent(true))
  assert.deepEqual(readTraceParent(`cc-${TRACE}-${SPAN}-01-what-comes-later`), parent(true))
})

test('malformed contexts are not', () => {
  const malformed = [
    '',
    '00',
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-011`,
    `00-${TRACE}-${SPAN}-0x`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01-`,
    `cc-${TRACE}-${SPAN}-01.more`,
    `ff-${TRACE}-${SPAN}-01`,
    `0-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}0-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN.toUpperCase()}-01`,
    `00_${TRACE}_${SPAN}_01`,
    ` 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01\n`,
    // Two headers, as the server joins them.
    `00-${TRACE}-${SPAN}-01,00-${TRACE}-${SPAN}-01`,
  ]
  for (const value of malformed) assert.equal(readTraceParent(value), undefined, JSON.stringify(value))
})

test('a context that is written is read back; no text throws', () => {
  fc.assert(
    fc.property(hex(32), hex(16), fc.boolean(), (trace, span, isSampled) => {
      const [traceId, spanId] = [trace.join(''), span.join('')]
      const isSound = /[^0]/.test(traceId) && /[^0]/.test(spanId)
      const expected = isSound ? { traceId, spanId, isSampled } : undefined
      assert.deepEqual(readTraceParent(writeTraceParent(traceId, spanId, isSampled)), expected)
    }),
    { examples: [[Array<string>(32).fill('0'), Array<string>(16).fill('1'), true]] },
  )
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      readTraceParent(text)
      const state = readTraceState(text, 512)
      assert.equal(readTraceState(state, 512), state)
    }),
  )
})

test('a state is kept where all of its members are sound', () => {
  const kept: [value: string, read: string][] = [
    ['vendor=1', 'vendor=1'],
    ['a=1,b=2', 'a=1,b=2'],
    ['a=1 , \tb=2,', 'a=1,b=2'],
    ['tenant@vendor=x y;z:1', 'tenant@vendor=x y;z:1'],
    ['0tenant@vendor=1', '0tenant@vendor=1'],
    ['', ''],
  ]
  for (const [value, read] of kept) assert.equal(readTraceState(value, 512), read)
  const dropped = [
    'a',
    'a=',
    '=1',
    'A=1',
    '1a=1',
    'a=1=2',
    'a=1,a=2',
    'a=1,b',
    'a=\u0007',
    'a=1\r\nx: y',
    'a=é',
    `a=${'1'.repeat(600)}`,
    Array.from({ length: 33 }, (_, i) => `k${i}=1`).join(','),
  ]
  for (const value of dropped) assert.equal(readTraceState(value, 512), '', JSON.stringify(value))
})
