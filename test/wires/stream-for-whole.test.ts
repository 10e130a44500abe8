// Goal: a provider of the Anthropic dialect that answers a request for an answer in one piece with a stream is read, whatever
// the answer is labelled and encoded as, and so are its streams where one was asked for. One row a shape.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type AnthropicWire, startAnthropicWire } from '../support/wires/anthropicWire.ts'
import { type Got, ReceiptTap } from '../support/wires/wireClients.ts'

const NOTHING: Got = { text: '', reasoning: '', refusal: '', calls: [], finish: 'stop' }
const said = { ...NOTHING, text: 'It is 4.' }
const event = (type: string, members: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
const START = event('message_start', {
  message: {
    id: 'msg',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    usage: { input_tokens: 10, output_tokens: 1 },
  },
})
const block = (index: number, start: object, ...deltas: object[]): string =>
  event('content_block_start', { index, content_block: start }) +
  deltas.map((delta) => event('content_block_delta', { index, delta })).join('') +
  event('content_block_stop', { index })
const text = (index = 0, ...pieces: string[]): string =>
  block(index, { type: 'text', text: '' }, ...pieces.map((piece) => ({ type: 'text_delta', text: piece })))
const ANSWER = text(0, 'It is ', '4.')
const THOUGHT = block(
  0,
  { type: 'thinking', thinking: '', signature: '' },
  { type: 'thinking_delta', thinking: '2 and ' },
  { type: 'thinking_delta', thinking: '2' },
  { type: 'signature_delta', signature: 'signed' },
)
const CALL = block(
  0,
  { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
  { type: 'input_json_delta', partial_json: '{"a"' },
  { type: 'input_json_delta', partial_json: ':1}' },
)
const ending = (reason: string | null = 'end_turn', usage: object = { output_tokens: 5 }): string =>
  event('message_delta', { delta: { stop_reason: reason, stop_sequence: null }, usage })
const STOP = event('message_stop')
const called: Got = { ...NOTHING, calls: [{ id: 'toolu_1', name: 'f', arguments: '{"a":1}' }], finish: 'tool_calls' }

const MIXED = [
  { type: 'thinking_delta', thinking: '2 and 2' },
  { type: 'text_delta', text: 'It is 4.' },
]

interface Row {
  readonly name: string
  readonly body: string
  readonly type?: string
  readonly gzip?: true
  /** Absent: refused, and nothing is charged. */
  readonly got?: Got
  /** The same shape is tried for a request for a stream too. */
  readonly both?: true
}

const WHOLE = START + ANSWER + ending() + STOP
const ROWS: readonly Row[] = [
  { name: 'a text', body: WHOLE, got: said, both: true },
  ...['application/json', 'text/plain', 'application/octet-stream'].map(
    (type): Row => ({ name: `labelled ${type}`, body: WHOLE, type, got: said, both: true }),
  ),
  { name: 'compressed', body: WHOLE, gzip: true, got: said, both: true },
  { name: 'compressed, labelled as JSON', body: WHOLE, gzip: true, type: 'application/json', got: said, both: true },
  { name: 'data alone', body: WHOLE.replace(/^event: .*\n/gm, ''), got: said, both: true },
  { name: 'no blank line between events', body: WHOLE.replaceAll('\n\n', '\n'), got: said, both: true },
  { name: 'CRLF and comments', body: `: hi\n\n${WHOLE}`.replaceAll('\n', '\r\n'), got: said, both: true },
  { name: 'pings', body: START + event('ping') + ANSWER + event('ping') + ending() + STOP, got: said, both: true },
  { name: 'two texts', body: START + text(0, 'It is ') + text(1, '4.') + ending() + STOP, got: said },
  {
    name: 'thinking and a text',
    body: START + THOUGHT + text(1, 'It is 4.') + ending() + STOP,
    got: { ...said, reasoning: '2 and 2' },
    both: true,
  },
  { name: 'a call', body: START + CALL + ending('tool_use') + STOP, got: called, both: true },
  {
    name: 'a call without pieces',
    body: START + block(0, { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } }) + ending('tool_use') + STOP,
    got: called,
  },
  { name: 'cut short', body: START + ANSWER + ending('max_tokens') + STOP, got: { ...said, finish: 'length' } },
  { name: 'no message_stop', body: START + ANSWER + ending(), got: said },
  { name: '[DONE] at the end', body: `${WHOLE}data: [DONE]\n\n`, got: said },
  { name: '[DONE] in the place of the end', body: `${START + ANSWER + ending()}data: [DONE]\n\n`, got: said },
  {
    name: 'zeros in the last report',
    body: START + ANSWER + ending('end_turn', { input_tokens: 0, output_tokens: 5 }) + STOP,
    got: said,
    both: true,
  },
  {
    name: 'members of null beside the text',
    body:
      START +
      block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'It is 4.', partial_json: null }) +
      ending() +
      STOP,
    got: said,
    both: true,
  },
  {
    name: 'members of null beside the input',
    body:
      START +
      block(
        0,
        { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
        { type: 'input_json_delta', partial_json: '{"a":1}', text: null },
      ) +
      ending('tool_use') +
      STOP,
    got: called,
    both: true,
  },
  {
    name: 'thinking in a block of text',
    body: START + block(0, { type: 'text', text: '' }, ...MIXED) + ending() + STOP,
    got: { ...said, reasoning: '2 and 2' },
    both: true,
  },
  {
    name: 'a text in a block of thinking',
    body: START + block(0, { type: 'thinking', thinking: '', signature: '' }, ...MIXED) + ending() + STOP,
    got: { ...said, reasoning: '2 and 2' },
    both: true,
  },
  {
    name: 'an empty piece of input in a block of text',
    body:
      START +
      block(
        0,
        { type: 'text', text: '' },
        { type: 'input_json_delta', partial_json: '' },
        { type: 'text_delta', text: 'It is 4.' },
      ) +
      ending() +
      STOP,
    got: said,
    both: true,
  },
  {
    name: 'usage without a reason amid a call',
    body:
      START +
      event('content_block_start', {
        index: 0,
        content_block: { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
      }) +
      event('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: '{"a"' } }) +
      ending(null, { output_tokens: 2 }) +
      event('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: ':1}' } }) +
      event('content_block_stop', { index: 0 }) +
      ending('tool_use') +
      STOP,
    got: called,
    both: true,
  },
  { name: 'an error as an event with a name', body: `${START}event: error\ndata: {"message":"boom"}\n\n${STOP}` },
  { name: 'broken off', body: START + ANSWER },
  { name: 'half an event', body: `${START}data: {"type":"content_bl` },
  { name: 'an error', body: START + event('error', { error: { type: 'overloaded_error', message: 'no' } }) },
  {
    name: 'an error behind a text',
    body: START + ANSWER + event('error', { error: { type: 'api_error', message: 'no' } }),
  },
  { name: 'no message', body: event('ping') + STOP },
]

let wire: AnthropicWire
const tap = new ReceiptTap()

before(async () => {
  wire = await startAnthropicWire(tap, (place, _body, response) => {
    const row = ROWS[place]
    const bytes = Buffer.from(row?.body ?? '')
    const encoded = row?.gzip === true ? { 'content-encoding': 'gzip' } : {}
    response
      .writeHead(200, { 'content-type': row?.type ?? 'text/event-stream', ...encoded })
      .end(row?.gzip === true ? gzipSync(bytes) : bytes)
  })
})

after(() => wire.stop())

for (const format of ['chat', 'messages', 'responses']) {
  for (const isStream of [false, true]) {
    describe(`a stream for ${isStream ? 'a stream' : 'an answer in one piece'}: ${format}`, () => {
      for (const [place, { name, got, both }] of ROWS.entries()) {
        if (isStream && both !== true) continue
        test(name, async () => {
          const asked = wire.ask(format, `row ${place}`, isStream)
          if (got === undefined) {
            await assert.rejects(asked)
            assert.equal(tap.receipt, undefined)
            return
          }
          assert.deepEqual(await asked, got)
          const { receipt } = tap
          assert.deepEqual(
            [receipt?.status, receipt?.usage.prompt_tokens, receipt?.usage.completion_tokens, receipt?.usage_source],
            ['ok', 10, 5, 'reported'],
          )
        })
      }
    })
  }
}
