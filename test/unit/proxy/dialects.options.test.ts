// Goal: whatever of a request reaches a provider beside its prompt has a form and a bound, and what a provider might take
// for prompt is in the hold.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { GatewayError } from '../../../contract/errors/errors.ts'
import type { Model } from '../../../proxy/catalog/catalog.ts'
import { readMessagesRequest } from '../../../proxy/dialects/anthropic/messagesRequest.ts'
import { readChatRequest } from '../../../proxy/dialects/openai/chatRequest.ts'
import { readTextRequest } from '../../../proxy/dialects/openai/completionsRequest.ts'
import { readResponseRequest } from '../../../proxy/dialects/responses/responsesRequest.ts'
import type { ChatRequest } from '../../../proxy/dialects/shared/chatRequest.ts'
import { checkContext } from '../../../proxy/endpoints/chat/admit.ts'
import { limits } from '../../support/limits.ts'

const LONG = 'x'.repeat(limits.nameCharactersMax + 1)
const WORDY = 'high, and now obey'
const messages = [{ role: 'user', content: 'hi' }]

type Read = (body: object) => ChatRequest
const chat: Read = (body) => readChatRequest({ model: 'acme/m', messages, ...body }, limits)
const text: Read = (body) => readTextRequest({ model: 'acme/m', prompt: 'hi', ...body }, limits)
const message: Read = (body) => readMessagesRequest({ model: 'acme/m', max_tokens: 10, messages, ...body }, limits)
const response: Read = (body) => readResponseRequest({ model: 'acme/m', input: 'hi', ...body }, limits)

const manyBiases = Object.fromEntries(Array.from({ length: limits.logitBiasEntriesMax + 1 }, (_, id) => [id, 1]))
const image = (media_type: string) => [
  { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type, data: '' } }] },
]

const SAMPLING: [body: object, param: string][] = [
  ...['top_p', 'top_k', 'min_p', 'seed', 'frequency_penalty', 'presence_penalty', 'repetition_penalty'].flatMap(
    (name): [object, string][] => [
      [{ [name]: LONG }, name],
      [{ [name]: { a: 1 } }, name],
      [{ [name]: Number.POSITIVE_INFINITY }, name],
    ],
  ),
  [{ user: LONG }, 'user'],
  [{ user: { id: 'x' } }, 'user'],
  [{ stop: LONG }, 'stop'],
  [{ stop: 7 }, 'stop'],
  [{ stop: ['a', 7] }, 'stop'],
  [{ stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop'],
  [{ stop: { text: 'x' } }, 'stop'],
  [{ logit_bias: manyBiases }, 'logit_bias'],
  [{ logit_bias: { [LONG]: 1 } }, 'logit_bias'],
  [{ logit_bias: { 5: 101 } }, 'logit_bias'],
  [{ logit_bias: { 5: 'x' } }, 'logit_bias'],
  [{ logit_bias: [1] }, 'logit_bias'],
  [{ max_completion_tokens: 5, max_tokens: 0 }, 'max_tokens'],
]
const REFUSED: [name: string, read: Read, bodies: [body: object, param: string][]][] = [
  [
    'chat completions',
    chat,
    [
      ...SAMPLING,
      [{ logprobs: 3 }, 'logprobs'],
      [{ top_logprobs: '3' }, 'top_logprobs'],
      [{ reasoning_effort: WORDY }, 'reasoning_effort'],
      [{ reasoning_effort: 'x'.repeat(33) }, 'reasoning_effort'],
      [{ reasoning_effort: { effort: 'high' } }, 'reasoning_effort'],
      [{ verbosity: WORDY }, 'verbosity'],
      [{ prompt_cache_key: LONG }, 'prompt_cache_key'],
      [{ safety_identifier: LONG }, 'safety_identifier'],
    ],
  ],
  ['text completions', text, SAMPLING],
  [
    'messages',
    message,
    [
      [{ metadata: { user_id: LONG } }, 'metadata.user_id'],
      [{ stop_sequences: [LONG] }, 'stop_sequences'],
      [{ stop_sequences: Array.from({ length: 65 }, () => 'x') }, 'stop_sequences'],
      [{ output_config: { effort: WORDY } }, 'output_config.effort'],
      [{ messages: image(`image/${LONG}`) }, 'messages[0].content[0].source.media_type'],
    ],
  ],
  [
    'responses',
    response,
    [
      [{ user: LONG }, 'user'],
      [{ reasoning: { effort: WORDY } }, 'reasoning.effort'],
      [{ text: { verbosity: WORDY } }, 'text.verbosity'],
    ],
  ],
]

describe('options without a form or a bound are rejected', () => {
  for (const [name, read, bodies] of REFUSED) {
    test(name, () => {
      for (const [body, param] of bodies) {
        assert.throws(
          () => read(body),
          (error) => {
            assert.ok(error instanceof GatewayError)
            assert.deepEqual([error.status, error.param, error.row], [400, param, 'invalid_request'])
            return true
          },
          JSON.stringify(body).slice(0, 80),
        )
      }
    })
  }
})

test('options that the format allows are forwarded unchanged', () => {
  const options = {
    top_p: 0.5,
    top_k: 3,
    min_p: 0,
    seed: -7,
    frequency_penalty: 2,
    presence_penalty: -2,
    repetition_penalty: 1.1,
    logit_bias: { 50256: -100, 5: 0.5 },
    stop: ['a', 'b', 'c', 'd'],
    user: 'x'.repeat(512),
    temperature: 2,
  }
  const ofChat = {
    logprobs: true,
    top_logprobs: 20,
    reasoning_effort: 'xhigh',
    verbosity: 'low',
    prompt_cache_key: 'k',
  }
  assert.deepEqual(chat({ ...options, ...ofChat }).forward, { messages, ...options, ...ofChat })
  assert.deepEqual(text({ ...options, logprobs: 5 }).forward, { prompt: 'hi', ...options, logprobs: 5 })
  assert.equal(chat({ stop: 'END', user: null }).forward['stop'], 'END')
  const detailed = (detail: unknown) =>
    chat({
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.b/c', detail } }] }],
    })
  assert.match(JSON.stringify(detailed('high').forward), /"detail":"high"/)
  assert.doesNotMatch(JSON.stringify(detailed(LONG).forward), /detail/)
})

test('the hold covers exactly the options that a provider may count as prompt', () => {
  const SIZES: [read: Read, body: object, bytes: number][] = [
    [chat, {}, 0],
    [chat, { temperature: 1, seed: 5, logit_bias: { 5: 1 } }, 0],
    [chat, { user: 'ü', stop: ['one', 'two'], reasoning_effort: 'high', verbosity: 'low' }, 2 + 6 + 4 + 3],
    [chat, { prompt_cache_key: 'key', safety_identifier: 'id' }, 5],
    [text, { user: 'user', stop: 'END' }, 7],
    [message, { stop_sequences: ['END'], metadata: { user_id: 'me' }, output_config: { effort: 'low' } }, 3 + 2 + 3],
    [response, { user: 'me', reasoning: { effort: 'low' }, text: { verbosity: 'high' } }, 2 + 3 + 4],
  ]
  for (const [read, body, bytes] of SIZES) {
    const { prompt } = read(body)
    assert.deepEqual([prompt.textBytes, prompt.optionBytes ?? 0], [2, bytes], JSON.stringify(body))
  }
})

test('max_tokens is also checked against the model beside max_completion_tokens', () => {
  const model = { id: 'acme/m', context: 1_000, maxOutput: 100 } as Model
  for (const read of [chat, text]) {
    checkContext(read({ max_tokens: 100, max_completion_tokens: 50 }), model, 'chat')
    for (const [max_tokens, max_completion_tokens, param] of [
      [101, 50, 'max_tokens'],
      [50, 101, 'max_completion_tokens'],
      [101, undefined, 'max_tokens'],
    ] as const) {
      assert.throws(
        () => checkContext(read({ max_tokens, max_completion_tokens }), model, 'chat'),
        (error) => error instanceof GatewayError && error.row === 'context_length_exceeded' && error.param === param,
      )
    }
  }
})
