// Goal: a provider of the Anthropic dialect that answers a request for a stream in one piece is read, and its answer comes as
// a stream of the client's format. One row a shape.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type AnthropicWire, startAnthropicWire } from '../support/wires/anthropicWire.ts'
import { type Got, ReceiptTap } from '../support/wires/wireClients.ts'

const HEAD = { id: 'msg', type: 'message', role: 'assistant', model: 'm', stop_sequence: null }
const USAGE = { input_tokens: 10, output_tokens: 5 }
const text = { type: 'text', text: 'It is 4.' }
const thinking = { type: 'thinking', thinking: '2 and 2', signature: 'signed' }
const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } }
const NOTHING: Got = { text: '', reasoning: '', refusal: '', calls: [], finish: 'stop' }

const answer = (content: readonly object[], more: object = {}): string =>
  JSON.stringify({ ...HEAD, content, stop_reason: 'end_turn', usage: USAGE, ...more })

interface Row {
  readonly name: string
  readonly body: string
  readonly type?: string
  /** Absent: refused, and nothing is charged. */
  readonly got?: Got
}

const said = { ...NOTHING, text: 'It is 4.' }
const ROWS: readonly Row[] = [
  { name: 'a text', body: answer([text]), got: said },
  { name: 'a text, labelled as a stream', body: answer([text]), type: 'text/event-stream', got: said },
  { name: 'over many lines', body: JSON.stringify(JSON.parse(answer([text])), null, 2), got: said },
  {
    name: 'two texts',
    body: answer([
      { type: 'text', text: 'It is ' },
      { type: 'text', text: '4.' },
    ]),
    got: said,
  },
  { name: 'thinking and a text', body: answer([thinking, text]), got: { ...said, reasoning: '2 and 2' } },
  {
    name: 'a call',
    body: answer([call], { stop_reason: 'tool_use' }),
    got: { ...NOTHING, calls: [{ id: 'toolu_1', name: 'f', arguments: '{"a":1}' }], finish: 'tool_calls' },
  },
  {
    name: 'a call without input',
    body: answer([{ ...call, input: undefined }], { stop_reason: 'tool_use' }),
    got: { ...NOTHING, calls: [{ id: 'toolu_1', name: 'f', arguments: '{}' }], finish: 'tool_calls' },
  },
  { name: 'cut short', body: answer([text], { stop_reason: 'max_tokens' }), got: { ...said, finish: 'length' } },
  { name: 'no reason', body: answer([text], { stop_reason: null }), got: said },
  { name: 'an error', body: JSON.stringify({ type: 'error', error: { type: 'overloaded_error', message: 'no' } }) },
  { name: 'half an answer', body: answer([text]).slice(0, -20) },
  { name: 'another object', body: '{"ok":true}' },
]

let wire: AnthropicWire
const tap = new ReceiptTap()

before(async () => {
  wire = await startAnthropicWire(tap, (place, body, response) => {
    const row = ROWS[place]
    assert.equal(body['stream'], true)
    response.writeHead(200, { 'content-type': row?.type ?? 'application/json' }).end(row?.body)
  })
})

after(() => wire.stop())

for (const format of ['chat', 'messages', 'responses']) {
  describe(`an answer in one piece for a stream: ${format}`, () => {
    for (const [place, { name, got }] of ROWS.entries()) {
      test(name, async () => {
        const asked = wire.ask(format, `row ${place}`, true)
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
