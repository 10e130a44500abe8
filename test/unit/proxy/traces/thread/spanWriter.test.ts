// Goal: whatever a span has, the code that is made of the official definitions reads back what was written.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { opentelemetry } from '../../../../../contract/wire/generated/otlp.js'
import { type SpanFields, SpanWriter } from '../../../../../proxy/traces/thread/spanWriter.ts'

const { Span, Status } = opentelemetry.proto.trace.v1
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(hexOf)
const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 100, maxLength: 40_000 }))
// As much as a double holds in steps of a nanosecond, which is beyond 2^53.
const nanos = fc.integer({ min: 0, max: 2 ** 43 }).map((ms) => Math.round(ms * 1e6))

const fields: fc.Arbitrary<SpanFields> = fc.record({
  traceId: hex(16),
  spanId: hex(8),
  parentId: fc.oneof(fc.constant(''), hex(8)),
  state: text,
  flags: fc.integer({ min: 0, max: 0x3ff }),
  name: text,
  kind: fc.integer({ min: 0, max: 5 }),
  startNs: nanos,
  endNs: nanos,
  isError: fc.boolean(),
})
const attribute = fc.oneof(
  fc.record({ stringValue: text.filter((value) => value !== '') }),
  fc.record({ intValue: fc.oneof(fc.constantFrom(0, 127, 128), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })) }),
  fc.record({ doubleValue: fc.double({ noNaN: true }) }),
  fc.record({ boolValue: fc.boolean() }),
)

test('a span is read back as it was written', () => {
  fc.assert(
    fc.property(fields, fc.array(attribute, { maxLength: 40 }), (span, values) => {
      const out = new SpanWriter(span)
      for (const [i, value] of values.entries()) {
        const key = `key.${i}`
        if ('stringValue' in value) out.text(key, value.stringValue)
        else if ('intValue' in value) out.count(key, value.intValue)
        else if ('doubleValue' in value) out.decimal(key, value.doubleValue)
        else out.flag(key, value.boolValue)
      }
      const read = Span.decode(out.bytes)
      assert.deepEqual(
        {
          traceId: hexOf(read.traceId),
          spanId: hexOf(read.spanId),
          parentId: hexOf(read.parentSpanId),
          state: read.traceState,
          flags: read.flags,
          name: read.name,
          kind: read.kind,
          startNs: read.startTimeUnixNano,
          endNs: read.endTimeUnixNano,
          isError: read.status?.code === Status.StatusCode.STATUS_CODE_ERROR,
        },
        { ...span },
      )
      const seen = read.attributes.map(({ key, value }) => [key, { ...value }])
      assert.deepEqual(
        seen,
        values.map((value, i) => [`key.${i}`, { ...value }]),
      )
    }),
    { numRuns: 50 },
  )
})

test('attributes without a value are left out', () => {
  const span = { traceId: '00', spanId: '01', parentId: '', state: '', flags: 0, name: '', kind: 0 }
  const out = new SpanWriter({ ...span, startNs: 0, endNs: 0, isError: false })
  out.text('a', '').some('b', 0).some('c', 1)
  assert.deepEqual(
    Span.decode(out.bytes).attributes.map(({ key }) => key),
    ['c'],
  )
})
