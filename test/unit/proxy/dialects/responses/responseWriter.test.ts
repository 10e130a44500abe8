import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator'
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { GatewayError } from '../../../../../contract/errors/errors.ts'
import { ResponseWriter } from '../../../../../proxy/dialects/responses/responseWriter.ts'
import type { FinishReason, MessageSink } from '../../../../../proxy/dialects/shared/message.ts'
import type { StreamTail } from '../../../../../proxy/dialects/shared/relayStream.ts'
import { SerialWriter } from '../../../../../proxy/dialects/shared/serialWriter.ts'
import { OutBuffer } from '../../../../../proxy/sse/outBuffer.ts'
import { assertValid } from '../../../../support/apiSchemas.ts'
import { itemOf, present } from '../../../../support/present.ts'
import { assertSerialItems } from '../../../../support/wires/serialItems.ts'

const ID = 'req_01ARZ3NDEKTSV4RRFFQ69G5FAV'
const ECHO = JSON.stringify({
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  temperature: 1,
  top_p: 1,
  top_logprobs: 0,
  presence_penalty: 0,
  frequency_penalty: 0,
  prompt_cache_key: null,
  safety_identifier: null,
  tools: [],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  text: { format: { type: 'text' } },
  reasoning: { effort: null, summary: null },
}).slice(1, -1)
const USAGE = { input: 5, cachedInput: 3, cacheWrite5m: 2, cacheWrite1h: 1, output: 7, reasoning: 4 }
const TAIL: StreamTail = { usage: USAGE, fault: null, receipt: '{"request_id":"r"}' }

interface Event extends Record<string, unknown> {
  readonly type: string
  readonly sequence_number: number
  readonly response?: Response
}

/** What a writer makes of a message: every event valid, named by its type, and numbered without a gap. */
function write(say: (sink: MessageSink) => void, tail: Partial<StreamTail> = {}): Event[] {
  const head = { id: ID, createdAtMs: 1_763_683_200_123, model: 'acme/chat', echo: ECHO }
  const writer = new SerialWriter(new ResponseWriter(head))
  writer.out = new OutBuffer()
  say(writer)
  const text = writer.out.view().toString('utf8') + writer.tail({ ...TAIL, ...tail })
  assertSerialItems(text)
  const blocks = text.split('\n\n').filter((block) => block !== '')
  assert.equal(blocks.pop(), 'data: [DONE]')
  assert.equal(blocks.pop(), `: receipt ${TAIL.receipt}`)
  return blocks.map((block, place) => {
    const [name, data] = block.split('\n')
    const event = JSON.parse(present(data).slice('data: '.length)) as Event
    assert.equal(name, `event: ${event.type}`)
    assert.equal(event.sequence_number, place)
    assertValid('openResponses/Event', event)
    return event
  })
}

const typesOf = (events: Event[]) => events.map(({ type }) => type.replace('response.', ''))
const outputOf = (events: Event[]) => events.at(-1)?.response?.output ?? []

test('an empty message is still a response', () => {
  const events = write((sink) => sink.ends('stop'))
  assert.deepEqual(typesOf(events), ['created', 'in_progress', 'completed'])
  assert.deepEqual(typesOf(write(() => undefined)), ['created', 'in_progress', 'completed'])
  const { response } = itemOf(events, 2)
  assert.deepEqual(
    [response?.id, response?.created_at, response?.status, response?.output],
    [ID, 1_763_683_200, 'completed', []],
  )
  assert.deepEqual(response?.usage, {
    input_tokens: 11,
    input_tokens_details: { cached_tokens: 3, cache_write_tokens: 3 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 4 },
    total_tokens: 18,
  })
  assert.deepEqual(Reflect.get(response ?? {}, 'receipt'), { request_id: 'r' })
})

test('reasoning, text and calls are items in the order they begin; the arguments of calls may be interleaved', () => {
  const events = write((sink) => {
    sink.reasoning('hm')
    sink.text('Hello')
    sink.text(' "you"\n')
    sink.toolCall(0, 'call_a', 'f')
    sink.toolCall(1, '', 'g')
    sink.toolArguments(1, '{"b":')
    sink.toolArguments(0, '{}')
    sink.toolArguments(1, '1}')
    sink.ends('tool_calls')
  })
  assert.deepEqual(
    outputOf(events).map((item) => [item.type, item.id, Reflect.get(item, 'status')]),
    [
      ['reasoning', 'rs_01ARZ3NDEKTSV4RRFFQ69G5FAV_0', 'completed'],
      ['message', 'msg_01ARZ3NDEKTSV4RRFFQ69G5FAV_1', 'completed'],
      ['function_call', 'fc_01ARZ3NDEKTSV4RRFFQ69G5FAV_2', 'completed'],
      ['function_call', 'fc_01ARZ3NDEKTSV4RRFFQ69G5FAV_3', 'completed'],
    ],
  )
  const [, , first, second] = outputOf(events)
  assert.ok(first?.type === 'function_call' && second?.type === 'function_call')
  assert.deepEqual([first?.call_id, first?.arguments], ['call_a', '{}'])
  assert.deepEqual([second?.call_id, second?.arguments], ['call_01ARZ3NDEKTSV4RRFFQ69G5FAV_3', '{"b":1}'])
  assert.deepEqual(typesOf(events), [
    'created',
    'in_progress',
    'output_item.added',
    'reasoning_summary_part.added',
    'reasoning_summary_text.delta',
    'reasoning_summary_text.done',
    'reasoning_summary_part.done',
    'output_item.done',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'output_item.added',
    'function_call_arguments.delta',
    'function_call_arguments.done',
    'output_item.done',
    'output_item.added',
    'function_call_arguments.delta',
    'function_call_arguments.delta',
    'function_call_arguments.done',
    'output_item.done',
    'completed',
  ])
})

test('a call without arguments from its provider has an empty JSON object', () => {
  const events = write((sink) => {
    sink.toolCall(0, 'c', 'now')
    sink.ends('tool_calls')
  })
  assert.ok(typesOf(events).includes('function_call_arguments.delta'))
  assert.equal(Reflect.get(itemOf(outputOf(events), 0), 'arguments'), '{}')
})

test('a message that ends early has its newest item incomplete, and states the reason', () => {
  for (const [finish, reason] of [
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ] as const) {
    const events = write((sink) => {
      sink.text('a')
      sink.toolCall(0, 'c', 'f')
      sink.toolArguments(0, '{"a')
      sink.ends(finish)
    })
    const { response, type } = itemOf(events, events.length - 1)
    assert.equal(type, 'response.incomplete')
    assert.deepEqual([response?.status, response?.incomplete_details], ['incomplete', { reason }])
    assert.deepEqual(
      outputOf(events).map((item) => Reflect.get(item, 'status')),
      ['completed', 'incomplete'],
    )
  }
})

test('calls that the end of the message cut are incomplete, also where others waited for them', () => {
  const events = write((sink) => {
    sink.toolCall(0, 'a', 'f')
    sink.toolArguments(0, '{"a')
    sink.toolCall(1, 'b', 'g')
    sink.toolArguments(1, '{"b":1}')
    sink.toolCall(2, 'c', 'h')
    sink.toolArguments(2, '{"c')
    sink.ends('length')
  })
  assert.deepEqual(
    outputOf(events).map((item) => Reflect.get(item, 'status')),
    ['incomplete', 'completed', 'incomplete'],
  )
})

test('an open call is streamed as it arrives, and what waits for it is left out after a fault', () => {
  const writer = new SerialWriter(new ResponseWriter({ id: ID, createdAtMs: 0, model: 'm', echo: ECHO }))
  const out = new OutBuffer()
  writer.out = out
  const said = (say: () => void) => {
    out.clear()
    say()
    return [
      ...out
        .view()
        .toString()
        .matchAll(/"delta":"(.*?[^\\])"[,}]/g),
    ].map(([, delta]) => delta)
  }
  writer.toolCall(0, 'a', 'f')
  writer.toolCall(1, 'b', 'g')
  assert.deepEqual(
    said(() => writer.toolArguments(1, '{"b":1}')),
    [],
  )
  assert.deepEqual(
    said(() => writer.toolArguments(0, '{"a":')),
    ['{\\"a\\":'],
  )
  writer.text('waiting')
  assert.deepEqual(
    said(() => writer.toolArguments(0, '1} ')),
    ['1}', '{\\"b\\":1}', 'waiting'],
  )
  writer.toolCall(2, 'c', 'h')
  writer.text('left out')
  const tail = writer.tail({ ...TAIL, fault: new GatewayError('stream_interrupted') })
  assertSerialItems(out.view().toString() + tail)
  assert.ok(!tail.includes('left out'))
})

test('a fault is reported at the top level and under error, and then in the failed response', () => {
  const fault = new GatewayError('stream_interrupted')
  const events = write(
    (sink) => {
      sink.text('a')
      sink.toolCall(0, 'c', 'f')
      sink.toolArguments(0, '{"a')
    },
    { fault },
  )
  const [error, failed] = events.slice(-2)
  const members = { code: 'stream_interrupted', message: fault.message, param: null }
  assert.deepEqual(error, {
    type: 'error',
    sequence_number: events.length - 2,
    ...members,
    error: { type: 'upstream_error', ...members },
  })
  assert.equal(failed?.type, 'response.failed')
  assert.deepEqual(failed?.response?.error, { code: 'stream_interrupted', message: fault.message })
  assert.deepEqual(
    outputOf(events).map((item) => Reflect.get(item, 'status')),
    ['completed', 'incomplete'],
  )
  const silent = write(() => undefined, { fault })
  assert.deepEqual(typesOf(silent), ['created', 'in_progress', 'error', 'failed'])
})

const piece = fc.string({ unit: 'binary', minLength: 1, maxLength: 8 })
const step = fc.oneof(
  fc.record({ kind: fc.constantFrom('text', 'refusal', 'reasoning'), piece }),
  fc.record({ kind: fc.constant('call'), piece }),
  fc.record({ kind: fc.constant('arguments'), piece, at: fc.nat(5) }),
)
const finishes = fc.constantFrom<FinishReason>('stop', 'length', 'tool_calls', 'content_filter')

test('the response accumulated from the events equals that of the last event', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), finishes, fc.boolean(), (steps, finish, ends) => {
      let calls = 0
      const events = write((sink) => {
        for (const { kind, piece: text, ...rest } of steps) {
          if (kind === 'text') sink.text(text)
          else if (kind === 'refusal') sink.refusal(text)
          else if (kind === 'reasoning') sink.reasoning(text)
          // Readers give each call an id of its own.
          else if (kind === 'call') sink.toolCall(calls, `${text}_${calls++}`, text)
          else if ('at' in rest && rest.at < calls) sink.toolArguments(rest.at, text)
        }
        if (ends) sink.ends(finish)
      })
      let added: Response | undefined
      for (const event of events.slice(0, -1))
        added = accumulateResponse(event as unknown as ResponseStreamEvent, added)
      const last = accumulateResponse(events.at(-1) as unknown as ResponseStreamEvent, added)
      assert.deepEqual(added?.output, last.output)
      assert.equal(added?.output_text, last.output_text)
      const texts = steps.filter(({ kind }) => kind === 'text').map((said) => said.piece)
      assert.equal(last.output_text, texts.join(''))
    }),
    { numRuns: 500 },
  )
})
