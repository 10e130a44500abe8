import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { usageBounds } from '../../../../../contract/money/openaiUsage.ts'
import { ChatStream } from '../../../../../proxy/dialects/openai/chatStream.ts'
import { chunkIdentity, textIdentity } from '../../../../../proxy/dialects/openai/rewrite.ts'
import { OutBuffer } from '../../../../../proxy/sse/outBuffer.ts'
import { limits } from '../../../../support/limits.ts'
import { itemOf } from '../../../../support/present.ts'
import { chunk } from '../../../../support/samples/chunks.ts'
import { searchedBytes } from '../../../../support/searchedBytes.ts'

const REQUEST_ID = 'req_01ARZ3NDEKTSV4RRFFQ69G5FAV'
const MODEL = 'acme/chat-small'
const ARRIVED_MS = 5_000
/** What a chunk gets that lacks them. */
const HEAD = { object: 'chat.completion.chunk', created: 5 }
const BOUNDS = usageBounds(128_000, 16_384)

interface Relayed {
  readonly stream: ChatStream
  readonly out: string
}

interface RelayOptions {
  readonly keepNullUsage?: boolean
  readonly size?: number
  /** As chunks of a text completion that echoes this. */
  readonly echo?: string
}

function relay(source: string | Buffer, options: RelayOptions = {}): Relayed {
  const out = new OutBuffer()
  const { echo, keepNullUsage = false } = options
  const identityOf = echo === undefined ? chunkIdentity : textIdentity
  const identity = identityOf(REQUEST_ID, MODEL, ARRIVED_MS)
  const stream = new ChatStream(identity, keepNullUsage, BOUNDS, limits, echo)
  // Who speaks is said before it.
  if (echo === undefined)
    stream.push(Buffer.from('data: {"choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n'), out)
  out.clear()
  const bytes = Buffer.from(source)
  const size = options.size ?? bytes.length
  for (let at = 0; at < bytes.length; at += size) stream.push(bytes.subarray(at, at + size), out)
  stream.finish(out)
  return { stream, out: out.view().toString('utf8') }
}

test('data over several lines is sent as one line', () => {
  const { out, stream } = relay('data: {"id":"a","choices":\ndata: [{"index":0,"delta":{"content":"x"}}]}\n\n')
  assert.equal(stream.outputFrames, 1)
  assert.equal(out.split('\n').length, 3)
  assert.deepEqual(events(out), [
    { ...HEAD, id: REQUEST_ID, model: MODEL, choices: [{ index: 0, delta: { content: 'x' } }] },
  ])
})

function events(out: string): unknown[] {
  return out
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => JSON.parse(event.slice(6)) as unknown)
}

test('rewriting a chunk equals parsing it, changing it and printing it', () => {
  fc.assert(
    fc.property(chunk, fc.boolean(), fc.integer({ min: 1, max: 64 }), ({ json }, keepNullUsage, size) => {
      const { stream, out } = relay(`data: ${json}\n\n`, { keepNullUsage, size })
      const expected: Record<string, unknown> = { ...HEAD, ...JSON.parse(json) }
      Object.assign(expected, { id: REQUEST_ID, model: MODEL })
      if (!(expected['usage'] === null && keepNullUsage)) delete expected['usage']
      assert.deepEqual(events(out), [expected])
      assert.notEqual(stream.state, 'broken')
    }),
    { numRuns: 2_000 },
  )
})

test('chunks of a text completion also get its object', () => {
  fc.assert(
    fc.property(chunk, fc.boolean(), ({ json }, keepNullUsage) => {
      const expected: Record<string, unknown> = { ...HEAD, ...JSON.parse(json) }
      Object.assign(expected, { id: REQUEST_ID, model: MODEL, object: 'text_completion' })
      if (!(expected['usage'] === null && keepNullUsage)) delete expected['usage']
      assert.deepEqual(events(relay(`data: ${json}\n\n`, { keepNullUsage, echo: '' }).out), [expected])
    }),
    { numRuns: 1_000 },
  )
})

test('an echo is sent once, with the first output, in a chunk like the others', () => {
  const piece = (text: string) =>
    `data: {"id":"up","object":"chunk","created":7,"choices":[{"index":0,"text":"${text}"}]}\n\n`
  const pieces = ['', 'a', 'b', 'c'].map(piece).join('')
  const { out, stream } = relay(pieces, { echo: 'Say "', keepNullUsage: true })
  const seen = events(out) as { object: string; choices: { text: string }[] }[]
  assert.deepEqual(
    seen.map(({ choices }) => itemOf(choices, 0).text),
    ['', 'Say "', 'a', 'b', 'c'],
  )
  assert.ok(seen.every(({ object }) => object === 'text_completion'))
  assert.deepEqual(events(out)[1], {
    id: REQUEST_ID,
    object: 'text_completion',
    created: 7,
    model: MODEL,
    usage: null,
    choices: [{ index: 0, text: 'Say "', logprobs: null, finish_reason: null }],
  })
  assert.deepEqual([stream.outputFrames, stream.outputBytes], [3, 3])
  assert.equal(relay(piece(''), { echo: 'x' }).stream.state, 'waiting')
  assert.ok(!relay(piece(''), { echo: 'x' }).out.includes('"x"'))
})

/** Chunks of one stream: mostly alike, with now and then one that is not. */
const alike = fc.tuple(
  fc.constantFrom('"usage":null,', '', '"x":{"content":"y"},'),
  fc.constantFrom('content', 'reasoning_content', 'text'),
  fc.array(
    fc.oneof(
      { weight: 8, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
      { weight: 2, arbitrary: fc.constantFrom('', '"', '\\', '"}]}', '[DONE]', '\n\n', '","content":"z') },
      { weight: 1, arbitrary: fc.constant(null) },
    ),
    { minLength: 1, maxLength: 30 },
  ),
  fc.constantFrom<(i: number) => string>(
    () => '',
    (i) => `,"obfuscation":"${'pad'.repeat(i % 4)}"`,
    (i) => `,"obfuscation" : "${'\\\\\\"'.repeat(i % 3)}","usage":null `,
    (i) => `,"usage":null,"obfuscation":"${i}","obfuscation":${i % 2 === 0 ? '"x"' : 'null'}`,
  ),
)

test('similar chunks in one read are sent as each of them alone', () => {
  fc.assert(
    fc.property(
      alike,
      fc.integer({ min: 1, max: 400 }),
      fc.boolean(),
      ([extra, name, texts, padding], size, keepNullUsage) => {
        const chunks = texts.map((text, i) => {
          const finish = text === null ? '"stop"' : 'null'
          const odd = text !== null && text.length === 5 ? `"odd":${i},` : ''
          const said = JSON.stringify({ [name]: text ?? '' })
          return `data: {"id":"a","created":9,"model":"m",${extra}${odd}"choices":[{"index":0,"delta":${said},"finish_reason":${finish}}]${padding(i)}}\n\n`
        })
        const together = relay(chunks.join(''), { keepNullUsage, size })
        const alone = chunks.map((chunk) => relay(chunk, { keepNullUsage }))
        assert.equal(together.out, alone.map(({ out }) => out).join(''))
        const sum = (of: (stream: ChatStream) => number) => alone.reduce((total, { stream }) => total + of(stream), 0)
        assert.equal(
          together.stream.outputBytes,
          sum((stream) => stream.outputBytes),
        )
        assert.equal(
          together.stream.outputFrames,
          sum((stream) => stream.outputFrames),
        )
        assert.equal(together.stream.finished, texts.includes(null))
      },
    ),
    { numRuns: 2_000 },
  )
})

/** What breaks a line, a string or an event, put somewhere into a stream. */
const damage = fc.array(
  fc.tuple(
    fc.nat(),
    fc.constantFrom('\n', '\r', '\r\n', '\n\n', '\\', '\\\n', '"', '\u0001', ' ', ':', ': c\n', 'data: '),
  ),
  { maxLength: 4 },
)

test('a damaged stream reads the same whole as byte by byte', () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[a-c"\\\n]{1,3}$/), { minLength: 2, maxLength: 8 }),
      damage,
      (texts, damages) => {
        const events = texts.map(
          (text) => `data: {"id":"a","choices":[{"index":0,"delta":{"content":${JSON.stringify(text)}}}]}\n\n`,
        )
        let source = events.join('')
        for (const [at, what] of damages) {
          const cut = at % (source.length + 1)
          source = source.slice(0, cut) + what + source.slice(cut)
        }
        const whole = relay(source)
        const bytewise = relay(source, { size: 1 })
        assert.equal(whole.out, bytewise.out)
        for (const name of ['state', 'outputFrames', 'outputBytes', 'finished'] as const) {
          assert.equal(whole.stream[name], bytewise.stream[name], name)
        }
      },
    ),
    { numRuns: 3_000 },
  )
})

const delta = (content: string) =>
  `data: {"id":"up","model":"m","choices":[{"index":0,"delta":{"content":"${content}"}}]}\n\n`
const role =
  'data: {"id":"up","model":"m","created":7,"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
const stop = 'data: {"id":"up","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'

test('preamble is distinguished from output', () => {
  assert.equal(relay(role).stream.state, 'waiting')
  assert.equal(relay(': hello\n\n').stream.state, 'waiting')
  assert.equal(relay(role + delta('x')).stream.state, 'flowing')
  assert.equal(relay(stop).stream.state, 'flowing')
  const toolCall = '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c"}]}}]}'
  assert.equal(relay(`data: ${toolCall}\n\n`).stream.outputFrames, 1)
})

test('usage is removed from the stream and the last report counts', () => {
  const cumulative = (n: number) =>
    `data: {"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"prompt_tokens":9,"completion_tokens":${n}}}\n\n`
  const { stream, out } = relay(cumulative(1) + cumulative(2) + cumulative(3))
  assert.equal(stream.usage?.output, 3)
  assert.equal(stream.usage?.input, 9)
  assert.ok(!out.includes('usage'))
  const trailing = 'data: {"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}\n\n'
  const zero = relay(delta('x') + trailing)
  assert.deepEqual([zero.stream.usage?.input, zero.stream.usage?.output], [0, 0])
  assert.equal(events(zero.out).length, 1)
})

test('a later impossible report does not replace a plausible one', () => {
  const report = (usage: string) => `data: {"choices":[],"usage":${usage}}\n\n`
  const good = report('{"prompt_tokens":5,"completion_tokens":6}')
  for (const bad of ['{"prompt_tokens":-5,"completion_tokens":-6}', '{"prompt_tokens":1.5}', '{}']) {
    assert.deepEqual([relay(good + report(bad)).stream.usage?.input, relay(report(bad)).stream.usage], [5, null], bad)
  }
  const half = relay(report('{"prompt_tokens":-5,"completion_tokens":6}')).stream.usage
  assert.deepEqual([half?.output, half?.missing, half?.contradicts], [6, 'prompt', true])
})

test('[DONE] ends the stream, and only as a whole event', () => {
  const inText = relay(delta('[DONE]') + delta('y'))
  assert.equal(inText.stream.state, 'flowing')
  assert.equal(events(inText.out).length, 2)
  const after = relay(`${delta('x')}data: [DONE]\n\n${delta('junk')}`)
  assert.equal(after.stream.state, 'done')
  assert.equal(events(after.out).length, 1)
})

test('error events and broken JSON are distinguished from output', () => {
  const failed = relay(`${delta('x')}data: {"error":{"message":"boom","code":500}}\n\n`)
  assert.equal(failed.stream.state, 'broken')
  assert.deepEqual(failed.stream.error, { message: 'boom', code: 500 })
  assert.equal(relay('data: <html>\n\n').stream.state, 'broken')
  assert.notEqual(relay('data: {"error":null,"choices":[]}\n\n').stream.state, 'broken')
})

test('comments are passed on, except those that look like our receipt', () => {
  assert.equal(relay(': keep-alive\n\n').out, ': keep-alive\n\n')
  assert.equal(relay(': receipt {"cost":0}\n\n:receipt {}\n\n').out, '')
})

test('events without choices are not passed on', () => {
  assert.equal(relay('data: {"choices":[],"prompt_filter_results":[]}\n\ndata: {"type":"ping"}\n\n').out, '')
})

test('the usage event carries the created time of the stream', () => {
  const { stream } = relay(role + delta('x'), { keepNullUsage: true })
  const usage = { input: 3, cachedInput: 1, cacheWrite5m: 0, cacheWrite1h: 0, output: 2, reasoning: 0 }
  const tail = stream.tail({ usage, fault: null, receipt: '{"a":1}' })
  assert.ok(tail.endsWith('\n\n: receipt {"a":1}\n\ndata: [DONE]\n\n'))
  const [event] = events(tail.slice(0, tail.indexOf(': receipt')))
  assert.deepEqual(event, {
    id: REQUEST_ID,
    object: 'chat.completion.chunk',
    created: 7,
    model: MODEL,
    choices: [],
    usage: {
      prompt_tokens: 4,
      completion_tokens: 2,
      total_tokens: 6,
      prompt_tokens_details: { cached_tokens: 1 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  })
})

const REPEATED: readonly (readonly [what: string, event: string])[] = [
  ['chunks without choices', '{"x":{}}'],
  ['chunks after the reason', '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x":{}}'],
]

for (const [what, event] of REPEATED) {
  test(`the work for ${what} is that of each by itself, however many follow in one read`, (t) => {
    const said = 'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
    const source = said + `data: ${event}\n\n`.repeat(1_000)
    const searched = searchedBytes(t, () => void relay(source))
    assert.ok(searched < 8 * source.length, `${searched} of ${source.length} bytes were searched`)
  })
}
