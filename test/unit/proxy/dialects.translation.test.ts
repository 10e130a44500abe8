import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { reasonWithCalls } from '../../../contract/api/finishReason.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import type { TokenUsage } from '../../../contract/money/charge.ts'
import { usageBounds } from '../../../contract/money/openaiUsage.ts'
import { readAnthropicMessage } from '../../../proxy/dialects/anthropic/anthropicMessage.ts'
import { AnthropicReader } from '../../../proxy/dialects/anthropic/anthropicReader.ts'
import { AnthropicWriter } from '../../../proxy/dialects/anthropic/anthropicWriter.ts'
import { OpenaiReader } from '../../../proxy/dialects/openai/openaiReader.ts'
import { OpenaiWriter } from '../../../proxy/dialects/openai/openaiWriter.ts'
import type { AnswerContext } from '../../../proxy/dialects/shared/codec.ts'
import type { FinishReason, MessageReader, MessageSink, MessageWriter } from '../../../proxy/dialects/shared/message.ts'
import { SerialWriter } from '../../../proxy/dialects/shared/serialWriter.ts'
import { TranslatedStream } from '../../../proxy/dialects/shared/translatedStream.ts'
import { AnswerJson } from '../../../proxy/json/answerJson.ts'
import { OutBuffer } from '../../../proxy/sse/outBuffer.ts'
import { limits } from '../../support/limits.ts'
import { Collected } from '../../support/parts/collectedMessage.ts'
import { itemOf, memberOf } from '../../support/present.ts'

const BOUNDS = usageBounds(128_000, 16_384)
const USAGE: TokenUsage = { input: 7, cachedInput: 5, cacheWrite5m: 3, cacheWrite1h: 2, output: 11, reasoning: 4 }

type Piece =
  | { readonly kind: 'text' | 'reasoning'; readonly piece: string }
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly pieces: string[] }

const ASKED = { requestId: 'req_A', model: { id: 'acme/m' }, startedAtMs: 5_000, request: { includeUsage: true } }

const writers: Record<string, () => MessageWriter> = {
  openai: () => new OpenaiWriter(ASKED as unknown as AnswerContext),
  anthropic: () => new SerialWriter(new AnthropicWriter('req_A', 'acme/m', 0)),
}
const readers: Record<string, () => MessageReader> = {
  openai: () => new OpenaiReader(BOUNDS, limits),
  anthropic: () => new AnthropicReader(BOUNDS, limits),
}

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 })
const argumentsOf = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.constant(null)), { maxKeys: 3 })
const call = fc
  .tuple(fc.uuid(), fc.string({ minLength: 1 }), argumentsOf, fc.integer({ min: 1, max: 9 }))
  .map(([id, name, input, size]) => {
    const json = JSON.stringify(input)
    const pieces: string[] = []
    for (let at = 0; at < json.length; at += size) pieces.push(json.slice(at, at + size))
    return { kind: 'call' as const, id, name, pieces }
  })
const message = fc.record({
  pieces: fc.array(
    fc.oneof(fc.record({ kind: fc.constantFrom('text' as const, 'reasoning' as const), piece: text }), call),
    {
      minLength: 1,
      maxLength: 8,
    },
  ),
  finish: fc.constantFrom<FinishReason>('stop', 'length', 'tool_calls', 'content_filter'),
  splits: fc.array(fc.nat(5_000), { maxLength: 8 }),
  turns: fc.boolean(),
})

/** Plays pieces; `turns` has the arguments of neighbouring calls come in turns, as a provider may send them. */
function play(pieces: readonly Piece[], turns: boolean, sink: MessageSink): void {
  let calls = 0
  let waiting: { index: number; pieces: string[] }[] = []
  const drain = () => {
    while (waiting.length > 0) {
      for (const entry of waiting) sink.toolArguments(entry.index, entry.pieces.shift() ?? '')
      waiting = waiting.filter((entry) => entry.pieces.length > 0)
    }
  }
  for (const piece of pieces) {
    if (piece.kind === 'call') {
      if (!turns) drain()
      sink.toolCall(calls, piece.id, piece.name)
      waiting.push({ index: calls++, pieces: [...piece.pieces] })
    } else {
      drain()
      if (piece.kind === 'text') sink.text(piece.piece)
      else sink.reasoning(piece.piece)
    }
  }
  drain()
}

function split(bytes: Buffer, splits: readonly number[]): Buffer[] {
  const cuts = [...new Set(splits.map((at) => at % (bytes.length + 1)))].sort((a, b) => a - b)
  return [...cuts, bytes.length].map((to, i) => bytes.subarray(i === 0 ? 0 : cuts[i - 1], to))
}

for (const dialect of ['openai', 'anthropic']) {
  test(`a message written in the ${dialect} format reads as the same message for any split`, () => {
    fc.assert(
      fc.property(message, ({ pieces, finish, splits, turns }) => {
        const writer = memberOf(writers, dialect)()
        const expected = new Collected()
        writer.out = new OutBuffer()
        play(pieces, turns, writer)
        play(pieces, turns, expected)
        writer.ends(finish)
        // A reader of this format asks for the outputs of calls itself.
        const calls = pieces.filter(({ kind }) => kind === 'call').length
        expected.ends(dialect === 'anthropic' ? reasonWithCalls(finish, calls) : finish)
        const tail = writer.tail({ usage: USAGE, fault: null, receipt: '{"a":1}' })
        const reader = memberOf(readers, dialect)()
        const read = new Collected()
        for (const part of split(Buffer.from(writer.out.view().toString() + tail), splits)) reader.push(part, read)
        reader.end(read)
        assert.deepEqual(read.whole, expected.whole)
        assert.ok(reader.done && !reader.broken)
        const { usage } = reader
        const minutes = dialect === 'openai' ? { cacheWrite5m: 5, cacheWrite1h: 0 } : {}
        assert.deepEqual(usage, { ...USAGE, ...minutes })
      }),
      { numRuns: 600 },
    )
  })
}

/** The blocks of a Messages stream, which have to follow each other with indexes from 0. */
function blocksOf(stream: string): { type: string; deltas: string[] }[] {
  const blocks: { type: string; deltas: string[] }[] = []
  let open = false
  for (const part of stream.split('\n\n')) {
    if (!part.startsWith('event: content_block')) continue
    const event = JSON.parse(part.slice(part.indexOf('data: ') + 6)) as {
      type: string
      index: number
      content_block: { type: string }
      delta: { text?: string; thinking?: string; partial_json?: string }
    }
    if (event.type === 'content_block_start') {
      assert.ok(!open)
      assert.equal(event.index, blocks.length)
      blocks.push({ type: event.content_block.type, deltas: [] })
      open = true
    } else {
      assert.ok(open)
      assert.equal(event.index, blocks.length - 1)
      const { text: said, thinking, partial_json: json } = event.delta ?? {}
      if (event.type === 'content_block_stop') open = false
      else itemOf(blocks, blocks.length - 1).deltas.push(said ?? thinking ?? json ?? '')
    }
  }
  assert.ok(!open)
  return blocks
}

describe('the writer of Messages streams', () => {
  test('blocks are consecutive for any order of pieces', () => {
    fc.assert(
      fc.property(message, ({ pieces, turns }) => {
        const writer = new SerialWriter(new AnthropicWriter('req_A', 'acme/m', 0))
        writer.out = new OutBuffer()
        play(pieces, turns, writer)
        const tail = writer.tail({ usage: USAGE, fault: null, receipt: '' })
        blocksOf(writer.out.view().toString() + tail)
      }),
      { numRuns: 300 },
    )
  })

  test('a call is streamed as it arrives; a later one waits only until the one before is complete', () => {
    const writer = new SerialWriter(new AnthropicWriter('req_A', 'acme/m', 0))
    const out = new OutBuffer()
    writer.out = out
    writer.toolCall(0, 'a', 'first')
    writer.toolArguments(0, '{"x":')
    writer.toolCall(1, 'b', 'second')
    writer.toolArguments(1, '{}')
    assert.ok(!out.view().toString().includes('second'))
    writer.toolArguments(0, '"}"}')
    assert.ok(out.view().toString().includes('second'))
    const tail = writer.tail({ usage: USAGE, fault: null, receipt: '' })
    assert.deepEqual(blocksOf(out.view().toString() + tail), [
      { type: 'tool_use', deltas: ['{"x":', '"}"}'] },
      { type: 'tool_use', deltas: ['{}'] },
    ])
  })

  test('a fault is reported by an error event, followed only by the receipt', () => {
    const writer = new SerialWriter(new AnthropicWriter('req_A', 'acme/m', 0))
    writer.out = new OutBuffer()
    writer.text('x')
    const fault = new GatewayError('stream_interrupted')
    const tail = writer.tail({ usage: USAGE, fault, receipt: '{"a":1}' })
    assert.match(
      tail,
      /^event: error\ndata: \{"type":"error",.*"code":"stream_interrupted".*\}\n\n: receipt \{"a":1\}\n\n$/,
    )
  })
})

const sse = (event: object) => `data: ${JSON.stringify(event)}\n\n`

function translated(source: string): TranslatedStream {
  const stream = new TranslatedStream(memberOf(readers, 'anthropic')(), memberOf(writers, 'openai')(), 1_000_000)
  const out = new OutBuffer()
  stream.push(Buffer.from(source), out)
  stream.finish(out)
  return stream
}

describe('a translated Messages stream', () => {
  const start = (usage: object) => sse({ type: 'message_start', message: { usage } })
  const piece = sse({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } })
  const end = (members: object) => sse({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, ...members })
  const stop = sse({ type: 'message_stop' })

  test('usage followed by output within one read counts as early', () => {
    const early = translated(start({ input_tokens: 3, output_tokens: 1 }) + piece + piece + end({}) + stop)
    assert.deepEqual([early.complete, early.outputFrames, early.framesAtUsage], [true, 2, 0])
    const late = translated(start({ input_tokens: 3, output_tokens: 1 }) + piece + end({ usage: { output_tokens: 8 } }))
    assert.deepEqual([late.framesAtUsage, late.usage?.output, late.usage?.input], [1, 8, 3])
  })

  test('a call without arguments gets an empty object; input given in one piece is used unchanged', () => {
    for (const [input, expected] of [
      [{}, '{}'],
      [{ a: 1 }, '{"a":1}'],
    ]) {
      const reader = memberOf(readers, 'anthropic')()
      const read = new Collected()
      const block = { type: 'tool_use', id: 'i', name: 'n', input }
      reader.push(Buffer.from(sse({ type: 'content_block_start', index: 4, content_block: block })), read)
      reader.push(Buffer.from(sse({ type: 'content_block_stop', index: 4 })), read)
      assert.deepEqual(read.calls, [{ id: 'i', name: 'n', arguments: expected }])
    }
  })

  test('stop reasons use the names of chat completions', () => {
    const reasons = {
      end_turn: 'stop',
      stop_sequence: 'stop',
      pause_turn: 'stop',
      max_tokens: 'length',
      model_context_window_exceeded: 'length',
      tool_use: 'stop',
      refusal: 'content_filter',
    }
    const finishAfter = (before: string, reason: string): unknown => {
      const read = new Collected()
      const end = sse({ type: 'message_delta', delta: { stop_reason: reason } })
      memberOf(readers, 'anthropic')().push(Buffer.from(before + end), read)
      return read.finish
    }
    for (const [reason, finish] of Object.entries(reasons)) assert.equal(finishAfter('', reason), finish)
    const call = { type: 'tool_use', id: 'i', name: 'n', input: {} }
    assert.equal(
      finishAfter(sse({ type: 'content_block_start', index: 0, content_block: call }), 'tool_use'),
      'tool_calls',
    )
  })

  test('errors, and calls beyond any number, break it', () => {
    assert.equal(translated(sse({ type: 'error', error: { type: 'overloaded_error' } })).state, 'broken')
    assert.equal(translated('data: {"type"\n\n').state, 'broken')
    const block = { type: 'tool_use', id: 'i', name: 'n', input: {} }
    const calls = Array.from({ length: 129 }, (_, index) =>
      sse({ type: 'content_block_start', index, content_block: block }),
    )
    assert.equal(translated(calls.join('')).state, 'broken')
  })
})

test('provider fields that should be text and are not are dropped', () => {
  const odd = { toString: 1 }
  const content = [
    { type: 'text', text: odd },
    { type: 'thinking', thinking: [odd] },
    { type: 'tool_use', id: odd, name: 'f', input: {} },
  ]
  const context = { requestId: 'req_A', model: { context: 100, maxOutput: 100 }, limits } as unknown as AnswerContext
  const message = readAnthropicMessage(
    new AnswerJson(Buffer.from(JSON.stringify({ content, stop_reason: odd }))),
    context,
  )
  assert.ok(!('rejected' in message))
  assert.deepEqual([message.text, message.reasoning], ['', ''])
  assert.deepEqual(message.toolCalls, [{ id: 'call_A_0', name: 'f', arguments: '{}' }])
})
