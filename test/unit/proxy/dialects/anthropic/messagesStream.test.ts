import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { GatewayError } from '../../../../../contract/errors/errors.ts'
import { usageBounds } from '../../../../../contract/money/openaiUsage.ts'
import { MessagesStream } from '../../../../../proxy/dialects/anthropic/messagesStream.ts'
import { chunkIdentity } from '../../../../../proxy/dialects/openai/rewrite.ts'
import { EventScan } from '../../../../../proxy/sse/eventScan.ts'
import { OutBuffer } from '../../../../../proxy/sse/outBuffer.ts'
import { limits } from '../../../../support/limits.ts'
import { itemOf, present } from '../../../../support/present.ts'

const REQUEST_ID = 'req_01ARZ3NDEKTSV4RRFFQ69G5FAV'
const MODEL = 'acme/chat-small'
const BOUNDS = usageBounds(128_000, 16_384)
const NO_USAGE = { input: 0, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0, reasoning: 0 }

interface Event {
  readonly type: string
  [member: string]: unknown
}

function relay(source: string | Buffer, splits: readonly number[] = []): { stream: MessagesStream; out: string } {
  const out = new OutBuffer()
  const stream = new MessagesStream(chunkIdentity(REQUEST_ID, MODEL, 0), BOUNDS, limits)
  const bytes = Buffer.from(source)
  const cuts = [...new Set(splits.map((split) => split % (bytes.length + 1)))].sort((a, b) => a - b)
  let from = 0
  for (const to of [...cuts, bytes.length]) {
    stream.push(bytes.subarray(from, to), out)
    from = to
  }
  stream.finish(out)
  return { stream, out: out.view().toString('utf8') }
}

/** The events of a stream, each of which has to carry its type as its name. */
function events(text: string): Event[] {
  return text
    .split('\n\n')
    .filter((block) => block.startsWith('event: '))
    .map((block) => {
      const [name, data, ...rest] = block.split('\n')
      assert.deepEqual(rest, [])
      const event = JSON.parse(present(data).slice('data: '.length)) as Event
      assert.equal(name, `event: ${event.type}`)
      return event
    })
}

const sse = (event: object, spacing = 0, eol = '\n') => {
  const { type } = event as Event
  const data = JSON.stringify(event, null, spacing).replaceAll('\n', ' ')
  return `event: ${type}${eol}data: ${data}${eol}${eol}`
}
const start = (message: object = {}) => ({
  type: 'message_start',
  message: { id: 'msg_up', type: 'message', role: 'assistant', model: 'up', content: [], ...message },
})
const usage = (members: object) => ({ usage: { input_tokens: 7, output_tokens: 1, ...members } })
const block = (text = '') => ({ type: 'content_block_start', index: 0, content_block: { type: 'text', text } })
const delta = (text: string) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
const end = (members: object = {}) => ({
  type: 'message_delta',
  delta: { stop_reason: 'end_turn', stop_sequence: null },
  ...members,
})
const stop = { type: 'message_stop' }

const leaf = fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.constant(null), fc.boolean())
const extra = fc.oneof(leaf, fc.array(leaf, { maxLength: 3 }), fc.dictionary(fc.string(), leaf, { maxKeys: 3 }))
const SEQUENCE = { stop_sequence: fc.constant(null) }
const REASONS = fc.constantFrom('end_turn', 'max_tokens', 'refusal', null)
const usages = fc.record(
  { input_tokens: fc.nat(1000), output_tokens: fc.nat(1000), cache_read_input_tokens: fc.nat(10), x: extra },
  { requiredKeys: ['input_tokens', 'output_tokens'] },
)
const shuffled = <T extends object>(object: fc.Arbitrary<T>) =>
  fc.tuple(object, fc.nat(1_000)).map(([value, seed]) => {
    const names = Object.keys(value)
    const at = names.length === 0 ? 0 : seed % names.length
    return Object.fromEntries(
      [...names.slice(at), ...names.slice(0, at)].map((name) => [name, Reflect.get(value, name)]),
    )
  })
const messageStart = shuffled(
  fc.record(
    {
      type: fc.constant('message_start'),
      message: shuffled(
        fc.record(
          { id: leaf, model: leaf, usage: usages, content: fc.constant([]), ...SEQUENCE, x: extra },
          { requiredKeys: ['content', 'usage', 'stop_sequence'] },
        ),
      ),
      x: extra,
    },
    { requiredKeys: ['type', 'message'] },
  ),
)
const ping = shuffled(fc.record({ type: fc.constant('ping'), x: extra }, { requiredKeys: ['type'] }))
const DELTA_OF: Readonly<Record<string, string>> = { text: 'text_delta', thinking: 'thinking_delta' }
/** A block of the message, whatever it holds, by its place. */
const blockAt = (index: number) =>
  fc
    .tuple(
      shuffled(
        fc.record({
          type: fc.constant('content_block_start'),
          index: fc.constant(index),
          content_block: fc.oneof(
            fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'binary' }), x: extra }),
            fc.record({ type: fc.constant('thinking'), thinking: fc.string({ unit: 'binary' }), x: extra }),
            fc.record({ type: fc.constant('x'), text: leaf, x: extra }),
          ),
          x: extra,
        }),
      ),
      fc.array(
        shuffled(
          fc.record({
            type: fc.constant('content_block_delta'),
            index: fc.constant(index),
            delta: fc.record({
              type: fc.constantFrom('text_delta', 'thinking_delta', 'x'),
              text: fc.string(),
              x: extra,
            }),
          }),
        ),
        { maxLength: 3 },
      ),
      fc.array(ping, { maxLength: 1 }),
    )
    .map(([begun, deltas, pings]) => {
      const own = DELTA_OF[begun.content_block.type]
      for (const { delta } of deltas) if (own !== undefined && delta.type !== 'x') delta.type = own
      return [begun, ...deltas, ...pings, { type: 'content_block_stop', index }]
    })
const ended = shuffled(
  fc.record({
    type: fc.constant('message_delta'),
    delta: fc.record({ ...SEQUENCE, stop_reason: REASONS, x: extra }),
    usage: usages,
  }),
)
const parts = fc
  .tuple(fc.array(ping, { maxLength: 1 }), blockAt(0), blockAt(1), fc.array(ended, { maxLength: 2 }))
  .map(([before, first, second, endings]) => [...before, ...first, ...second, ...endings])

describe('the native Messages stream', () => {
  test('random splits and spellings of a stream equal parsing its events and rewriting the first', () => {
    fc.assert(
      fc.property(
        messageStart,
        parts,
        fc.array(fc.nat(10_000), { maxLength: 12 }),
        fc.constantFrom(0, 1, 3),
        fc.constantFrom('\n', '\r\n', '\r'),
        (first, rest, splits, spacing, eol) => {
          const all = [first, ...rest]
          const source = all.map((event) => sse(event, spacing, eol)).join('')
          const { stream, out } = relay(source, splits)
          const expected = structuredClone(all) as { message?: object }[]
          Object.assign(itemOf(expected, 0).message ?? {}, { id: REQUEST_ID, model: MODEL })
          assert.notEqual(stream.state, 'broken')
          assert.deepEqual(events(out), JSON.parse(JSON.stringify(expected)))
        },
      ),
      { numRuns: 1_500 },
    )
  })

  test('usage adds up from its parts, each of which is cumulative', () => {
    const source = [
      start(
        usage({
          cache_read_input_tokens: 5,
          cache_creation_input_tokens: 30,
          cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
        }),
      ),
      block(),
      delta('a'),
      end({ usage: { output_tokens: 2 } }),
      end({ usage: { output_tokens: 9, input_tokens: null, output_tokens_details: { thinking_tokens: 4 } } }),
      stop,
    ]
    const { stream } = relay(source.map((event) => sse(event)).join(''))
    assert.deepEqual(stream.usage, {
      input: 7,
      cachedInput: 5,
      cacheWrite5m: 10,
      cacheWrite1h: 20,
      output: 9,
      reasoning: 4,
    })
    assert.equal(stream.framesAtUsage, stream.outputFrames)
    assert.equal(stream.state, 'done')
    assert.ok(stream.complete)
  })

  test('an impossible usage report keeps the earlier one, which is known to precede output', () => {
    for (const bad of [
      { output_tokens: -1 },
      { output_tokens: 1.5 },
      { output_tokens: 1e12 },
      { output_tokens: 'x' },
    ]) {
      const { stream } = relay([start(usage({})), delta('a'), end({ usage: bad })].map((event) => sse(event)).join(''))
      const { contradicts: _, ...kept } = stream.usage ?? {}
      assert.deepEqual(kept, { ...NO_USAGE, input: 7, output: 1 })
      assert.ok(stream.outputFrames > stream.framesAtUsage)
    }
    const unstated = relay(
      [start(), delta('a'), end({ usage: { output_tokens: 4 } })].map((event) => sse(event)).join(''),
    )
    assert.deepEqual(unstated.stream.usage, { ...NO_USAGE, output: 4, missing: 'prompt' })
  })

  test('preamble is distinguished from output: text, thinking, a call, a stop reason', () => {
    const states = (...added: object[]) => relay([start(), ...added].map((event) => sse(event)).join('')).stream.state
    assert.equal(states({ type: 'ping' }, block()), 'waiting')
    assert.equal(states(block('x')), 'flowing')
    assert.equal(states(block(), delta('x')), 'flowing')
    assert.equal(states({ ...delta(''), delta: { type: 'thinking_delta', thinking: 'x' } }), 'flowing')
    assert.equal(states({ ...delta(''), delta: { type: 'signature_delta', signature: 'x' } }), 'waiting')
    assert.equal(
      states({
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 'a', name: 'b', input: {} },
      }),
      'flowing',
    )
    assert.equal(states(end()), 'flowing')
    assert.equal(states({ ...end(), delta: { stop_reason: null } }), 'waiting')
  })

  test('message_stop waits for the receipt; an error ends without it', () => {
    const { stream, out } = relay([start(), delta('x'), end(), stop, delta('junk')].map((event) => sse(event)).join(''))
    assert.ok(!out.includes('message_stop') && !out.includes('junk'))
    const good = stream.tail({ usage: NO_USAGE, fault: null, receipt: '{"a":1}' })
    assert.equal(good, ': receipt {"a":1}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n')
    const fault = new GatewayError('stream_interrupted')
    const bad = stream.tail({ usage: NO_USAGE, fault, receipt: '{"a":1}' })
    assert.match(
      bad,
      /^event: error\ndata: \{"type":"error","error":\{.*stream_interrupted.*\}\}\n\n: receipt \{"a":1\}\n\n$/,
    )
  })

  test('error events, broken JSON and events that are too large end it; unknown events are ignored', () => {
    const failed = relay(sse(delta('x')) + sse({ type: 'error', error: { type: 'overloaded_error', message: 'no' } }))
    assert.equal(failed.stream.state, 'broken')
    assert.deepEqual(failed.stream.error, { type: 'overloaded_error', message: 'no' })
    assert.equal(relay('data: {"type":"content_block_delta","delta":{\n\n').stream.state, 'broken')
    const small = new MessagesStream(chunkIdentity(REQUEST_ID, MODEL, 0), BOUNDS, { ...limits, eventBytesMax: 100 })
    small.push(Buffer.from(`data: ${'x'.repeat(200)}`), new OutBuffer())
    assert.equal(small.state, 'broken')
    assert.equal(relay(sse({ type: 'vertex_event' }) + sse({ type: '' })).out, '')
  })

  test('comments are passed on, except those that look like our receipt', () => {
    assert.equal(relay(': keep-alive\n\n').out, ': keep-alive\n\n')
    assert.equal(relay(': receipt {"cost":0}\n\n').out, '')
  })
})

const DELTA = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"},"y":[1]}'
const UNSOUND: readonly (readonly [what: string, event: string])[] = [
  ['a value without its first quote', DELTA.replace('"x"', 'x"')],
  ['a raw control character', DELTA.replace('"x"', '"x\ty"')],
  ['an unknown escape', DELTA.replace('"x"', '"\\q"')],
  ['a comma too many', DELTA.replace('[1]', '[1,]')],
]
for (const [what, event] of UNSOUND) {
  test(`${what} is not relayed`, () => {
    const begun = [start(usage({})), block()].map((part) => sse(part)).join('')
    const { out, stream } = relay(`${begun}data: ${DELTA}\n\ndata: ${event}\n\n`)
    assert.deepEqual([stream.state, events(out).length], ['broken', 3])
  })
}

test('clients get no receipt of a provider, in the event or in its message', () => {
  const receipt = { cost: { units: '0' } }
  for (const event of [start({ receipt }), { ...delta('x'), receipt }]) {
    for (const text of [sse(event), sse(event).replace('receipt', '\\u0072eceipt')]) {
      const { out, stream } = relay(text)
      assert.deepEqual([stream.state, out], ['broken', ''], text)
    }
  }
})

test('truncated JSON of an event is rejected', () => {
  const json = JSON.stringify({ ...start(usage({ x: [1, '"}'] })), error: null })
  const scan = new EventScan()
  for (let at = 0; at < json.length; at++) assert.equal(scan.scan(Buffer.from(json), 0, at), false, json.slice(0, at))
  assert.equal(scan.scan(Buffer.from(json), 0, json.length), true)
})
