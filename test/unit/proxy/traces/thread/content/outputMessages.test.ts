// Goal: answers of every format, whole or as a stream that may have broken off, become messages of the conventions, without the
// bytes of images and thoughts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerHead, type Captured, callPart, spanContent, textPart } from '../../../../../support/spanContent.ts'

const SECRET = 'iVBORw0KGgoAAAANSUhEUg'

const events = (...all: object[]): string => all.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')
const delta = (index: number, said: object, reason: string | null = null) => ({
  choices: [{ index, delta: said, finish_reason: reason }],
})
const args = (piece: string) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })
const MESSAGE_EVENTS = [
  { type: 'message_start', message: { role: 'assistant', content: [] } },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: SECRET } },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'One ' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'two' } },
  { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 't1', name: 'f', input: {} } },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"a":' } },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '1}' } },
  { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
]
const MESSAGE_PARTS = [{ type: 'thinking' }, textPart('One two'), callPart('t1', 'f', { a: 1 })]
const RESPONSE_EVENTS = [
  { type: 'response.created', response: { status: 'in_progress', output: [] } },
  { type: 'response.output_item.added', output_index: 0, item: { type: 'message', content: [] } },
  { type: 'response.output_text.delta', output_index: 0, delta: 'One ' },
  { type: 'response.output_text.delta', output_index: 0, delta: 'two' },
  { type: 'response.output_item.added', output_index: 1, item: { type: 'function_call', call_id: 'c1', name: 'f' } },
  { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"a":1}' },
]
const RESPONSE_OUTPUT = [
  { type: 'reasoning', encrypted_content: SECRET },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'One two' }] },
  { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' },
]

const ANSWERED: [what: string, given: Captured, parts: unknown[][], reason: string][] = [
  [
    'a chat completion',
    {
      output: answerHead({
        choices: [
          {
            message: {
              role: 'assistant',
              content: 'Hi',
              reasoning: SECRET,
              images: [{ image_url: SECRET }],
              tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
            },
            finish_reason: 'tool_calls',
          },
          { message: { content: null, refusal: 'No.' }, finish_reason: 'tool_calls' },
        ],
      }),
    },
    [[{ type: 'reasoning' }, { type: 'image' }, textPart('Hi'), callPart('c1', 'f', {})], [textPart('No.')]],
    'tool_call',
  ],
  [
    'a chat stream',
    {
      streamed: true,
      output: `: comment\n\n${events(
        delta(0, { role: 'assistant', content: '' }),
        delta(0, { reasoning_content: SECRET }),
        delta(0, { content: 'One ' }),
        delta(0, { content: 'two' }),
        delta(0, { tool_calls: [{ index: 0, id: 'c1', function: { name: 'f', arguments: '' } }] }),
        delta(0, args('{"a":')),
        delta(0, args('1}')),
        delta(0, {}, 'tool_calls'),
      )}data: [DONE]\n\n`,
    },
    [[{ type: 'reasoning' }, textPart('One two'), callPart('c1', 'f', { a: 1 })]],
    'tool_call',
  ],
  [
    'a text completion',
    { output: answerHead({ choices: [{ text: 'upon a time', index: 0, finish_reason: 'length' }] }) },
    [[textPart('upon a time')]],
    'length',
  ],
  [
    'a stream of a text completion',
    {
      streamed: true,
      output: events(
        { choices: [{ index: 0, text: 'upon ' }] },
        { choices: [{ index: 0, text: 'a time', finish_reason: 'stop' }] },
      ),
    },
    [[textPart('upon a time')]],
    'stop',
  ],
  [
    'a message',
    {
      output: answerHead({
        type: 'message',
        role: 'assistant',
        content: [{ type: 'text', text: 'Hi' }],
        stop_reason: 'max_tokens',
      }),
    },
    [[textPart('Hi')]],
    'length',
  ],
  ['a stream of a message', { streamed: true, output: events(...MESSAGE_EVENTS) }, [MESSAGE_PARTS], 'tool_call'],
  [
    'a stream of a message that broke off',
    { streamed: true, output: events(...MESSAGE_EVENTS.slice(0, -1)), errorCode: 'stream_interrupted' },
    [MESSAGE_PARTS],
    'error',
  ],
  [
    'a response',
    { output: answerHead({ status: 'completed', output: RESPONSE_OUTPUT }) },
    [[{ type: 'reasoning' }, textPart('One two'), callPart('c1', 'f', { a: 1 })]],
    'tool_call',
  ],
  [
    'a response that is not whole',
    {
      output: answerHead({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        output: RESPONSE_OUTPUT.slice(1, 2),
      }),
    },
    [[textPart('One two')]],
    'length',
  ],
  [
    'a stream of a response',
    {
      streamed: true,
      output: events(...RESPONSE_EVENTS, {
        type: 'response.completed',
        response: { status: 'completed', output: RESPONSE_OUTPUT.slice(1, 2) },
      }),
    },
    [[textPart('One two')]],
    'stop',
  ],
  [
    'a stream of a response that broke off',
    { streamed: true, output: events(...RESPONSE_EVENTS) },
    [[textPart('One two'), callPart('c1', 'f', { a: 1 })]],
    'unknown',
  ],
  [
    'an answer that was cut',
    { output: '{"id":"x","choices":[{"message":{"role":"assistant","content":"whole"},"finish_reason":"st' },
    [[textPart('whole')]],
    'unknown',
  ],
]
for (const [what, given, parts, reason] of ANSWERED) {
  test(`the output of ${what}`, () => {
    const messages = parts.map((all) => ({ role: 'assistant', parts: all, finish_reason: reason }))
    const seen = spanContent(given)
    assert.deepEqual(seen, { instructions: undefined, input: undefined, output: messages, isTruncated: false })
  })
}
