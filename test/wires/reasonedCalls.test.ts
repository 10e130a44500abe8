// Goal: a call that comes with the reason of the message reaches clients of every format whole, and so do answers that are split over
// choices, numbers, and failures that are stated where no format has them. One row a shape.
import { bergen, both, call, fullCall, OSLO, one } from '../support/wires/sampleCalls.ts'
import {
  choiceChunk,
  chunk,
  DONE,
  ROLE,
  streamOf,
  USAGE,
  USAGE_CHUNK,
  type Wire,
  wholeOf,
} from '../support/wires/wire.ts'
import { wireTable } from '../support/wires/wireTable.ts'

const END = USAGE_CHUNK + DONE
const FIRST = fullCall(0, 'call_a', OSLO)
const SECOND = fullCall(1, 'call_b', '{"city":"Bergen"}')
const calls = (...list: unknown[]) => ({ tool_calls: list })
const SAID = ROLE + chunk({ content: 'It is ' })

/** Calls in the chunk with the reason, by the word for it. */
const reasoned = ['stop', 'STOP', 'tool_calls', 'function_call'].map(
  (word): Wire => ({
    name: `a call with the reason ${word}`,
    stream: ROLE + chunk(calls(FIRST), word) + END,
    want: { calls: one },
  }),
)

const beside: readonly Wire[] = [
  {
    name: 'the reason stop on every chunk',
    stream: ROLE + chunk(calls(FIRST), 'stop') + chunk({}, 'stop') + END,
    want: { calls: one },
  },
  {
    name: 'the second call with the reason stop',
    stream: ROLE + chunk(calls(FIRST)) + chunk(calls(SECOND), 'stop') + END,
    want: { calls: both },
  },
  {
    name: 'the last arguments with the reason stop',
    stream:
      ROLE +
      chunk(calls(fullCall(0, 'call_a', '{"city":'))) +
      chunk(calls(call({ index: 0, arguments: '"Oslo"}' })), 'stop') +
      END,
    want: { calls: one },
  },
  {
    name: 'a call without arguments, then another with the reason',
    stream: ROLE + chunk(calls(fullCall(0, 'call_a', ''))) + chunk(calls(SECOND), 'tool_calls') + END,
    want: {
      calls: [
        { name: 'weather', input: {}, id: 'call_a' },
        { ...bergen, id: 'call_b' },
      ],
    },
  },
]

const TWO_CHOICES = [
  { index: 0, finish_reason: 'tool_calls', message: { role: 'assistant', content: 'I will look.' } },
  { index: 1, finish_reason: 'tool_calls', message: { role: 'assistant', content: null, tool_calls: [FIRST] } },
]
const ROW = "INSERT INTO users (id, name, age) VALUES (1, 'x', 3);\n"
const values: readonly Wire[] = [
  {
    name: 'a last piece that begins like all before it',
    stream: streamOf([{ content: ROW }, { content: ROW.replace('1', '2') }]),
    want: { text: ROW + ROW.replace('1', '2') },
  },
  {
    name: 'a text and a call in a choice each',
    whole: wholeOf({}, 'stop', { choices: TWO_CHOICES }),
    want: { text: 'I will look.', calls: one },
  },
  {
    name: 'an end in an event named error',
    stream: `${SAID + chunk({ content: '4.' }) + chunk({}, 'stop') + USAGE_CHUNK}event: error\ndata: [DONE]\n\n`,
    want: { text: 'It is 4.' },
  },
  {
    name: 'a number in place of a text',
    stream: streamOf([{ content: 'It is ' }, { content: 4 }, { content: '.' }]),
    whole: wholeOf({ role: 'assistant', content: 4 }),
    want: { text: 'It is 4.' },
  },
  {
    name: 'an object in place of a text',
    whole: wholeOf({ role: 'assistant', content: { answer: 4 } }),
    want: { text: '{"answer":4}' },
  },
  {
    name: 'arguments that are encoded twice',
    whole: wholeOf({ role: 'assistant', content: null, tool_calls: [fullCall(0, 'call_a', JSON.stringify(OSLO))] }),
    want: { calls: one },
  },
]
  // A number alone is not the number in a text.
  .map((wire) => (wire.name.startsWith('a number') ? { ...wire, whole: undefined } : wire))

const failed = (name: string, what: string): Wire => ({
  name: `a failure ${name}`,
  stream: SAID + what + DONE,
  want: { status: 'partial', tokens: 'estimated' },
})
const BOOM = { code: 502, message: 'boom' }
const failures: readonly Wire[] = [
  failed(
    'in a choice without a reason',
    choiceChunk({ index: 0, delta: { content: '' }, finish_reason: null, error: BOOM }),
  ),
  failed('in a choice with the reason stop', choiceChunk({ index: 0, delta: {}, finish_reason: 'stop', error: BOOM })),
  failed('in a field of its own', `error: ${JSON.stringify(BOOM)}\n\n`),
  failed('as an event with a name', `event: error\ndata: {"message":"boom"}\n\n`),
  failed('as a text in an event with a name', `event: error\ndata: "boom"\n\n`),
  failed('with a word as its code', `data: {"error_code":"INTERNAL_ERROR","message":"boom"}\n\n`),
  failed('among several', `data: {"errors":[{"message":"boom"}]}\n\n`),
  {
    name: 'a failure in the choice of an answer in one piece',
    whole: wholeOf({ role: 'assistant', content: '' }, null, {
      choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: null, error: BOOM }],
    }),
    want: { status: 'refused' },
  },
]

/** Reports of usage in places where a stream has them, which comes for an answer in one piece. */
const late: readonly Wire[] = [
  ['in the choice', choiceChunk({ index: 0, delta: {}, finish_reason: 'stop', usage: USAGE }) + DONE],
  ['after the end', chunk({}, 'stop') + DONE + USAGE_CHUNK],
  ['in x_groq', chunk({}, 'stop', { x_groq: { usage: USAGE } }) + DONE],
  [
    'before one of zeros',
    chunk({}, 'stop', { usage: USAGE }) + chunk({}, null, { usage: { prompt_tokens: 0, completion_tokens: 0 } }) + DONE,
  ],
].map(
  ([name, end]): Wire => ({
    name: `usage ${name}`,
    whole: SAID + chunk({ content: '4.' }) + end,
    want: { text: 'It is 4.' },
  }),
)

wireTable([...reasoned, ...beside, ...values, ...failures, ...late])
