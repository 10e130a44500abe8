// Goal: clients learn why a message ended by the words of their own format, once; what its provider calls a failure, or never
// ends, is an error. One row a shape.
import { fullCall, OSLO, one } from '../support/wires/sampleCalls.ts'
import { chunk, DONE, ending, ROLE, streamOf, USAGE, USAGE_CHUNK, type Wire, wholeOf } from '../support/wires/wire.ts'
import { wireTable } from '../support/wires/wireTable.ts'

const CALLS = [fullCall(0, 'call_a', OSLO)]
const SAID = ROLE + chunk({ content: 'It is 4.' })
const CALLED = ROLE + chunk({ tool_calls: CALLS })
const answer = { text: 'It is 4.' }

/** A provider's word, and the one that clients get. */
const WORDS: [string, string][] = [
  ['stop', 'stop'],
  ['eos', 'stop'],
  ['end_turn', 'stop'],
  ['STOP', 'stop'],
  ['brand_new', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['MAX_TOKENS', 'length'],
  ['model_length', 'length'],
  ['content_filter', 'content_filter'],
  ['SAFETY', 'content_filter'],
  ['refusal', 'content_filter'],
  ['content-filter', 'content_filter'],
  ['max_new_tokens', 'length'],
  ['max_output', 'length'],
  ['content_filter: PROHIBITED_CONTENT', 'content_filter'],
  ['IMAGE_PROHIBITED_CONTENT', 'content_filter'],
  ['guardrail_intervened', 'content_filter'],
]
const worded = WORDS.map(
  ([word, finish]): Wire => ({
    name: `the reason ${word}`,
    stream: SAID + ending(word),
    whole: wholeOf({ role: 'assistant', content: 'It is 4.' }, word),
    want: { ...answer, finish },
  }),
)

const CALL_WORDS = ['tool_calls', 'tool-calls', 'tool_use', 'function_call', 'stop', 'STOP', 'eos']
const called = CALL_WORDS.map(
  (word): Wire => ({
    name: `the reason ${word} beside a call`,
    stream: CALLED + ending(word),
    whole: wholeOf({ role: 'assistant', content: null, tool_calls: CALLS }, word),
    want: { calls: one },
  }),
)

/** Agents that look for calls which are not there ask again without end. */
const uncalled = ['tool_calls', 'tool_use', 'function_call'].map(
  (word): Wire => ({
    name: `the reason ${word} without a call`,
    stream: SAID + ending(word),
    whole: wholeOf({ role: 'assistant', content: 'It is 4.', tool_calls: [] }, word),
    want: answer,
  }),
)

/** Words for a failure: what came is billed, and the client is told that it is not all. */
const FAILURES = [
  'error',
  'ERROR',
  'MALFORMED_FUNCTION_CALL',
  'malformed_function_call',
  'function_call_filter: MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'malformed_tool_use',
  'abort',
  'cancelled',
]
const failed = [...FAILURES, 'insufficient_system_resource', { type: 'abort', message: 'Aborted' }].map(
  (word): Wire => ({
    name: `the reason ${JSON.stringify(word)}`,
    stream: SAID + chunk({ content: '' }, word) + USAGE_CHUNK + DONE,
    want: { status: 'partial', tokens: 'estimated' },
  }),
)
const failedWhole = ['error', 'MALFORMED_FUNCTION_CALL', 'abort'].map(
  (word): Wire => ({
    name: `the reason ${word} of an answer`,
    whole: wholeOf({ role: 'assistant', content: 'It is' }, word),
    want: { status: 'refused' },
  }),
)

const empty = (delta: object) => chunk(delta, '')
const nullAsWord = ['null', 'None'].flatMap((word): Wire[] => [
  {
    name: `the word ${word} in place of a reason`,
    stream: chunk({ role: 'assistant', content: 'It is ' }, word) + chunk({ content: '4.' }, word) + ending('length'),
    want: { ...answer, finish: 'length' },
  },
  {
    name: `the word ${word} in place of a reason, and the end`,
    stream: ROLE + chunk({ content: 'It is ' }, word) + chunk({ content: '4.' }, word),
    want: { status: 'partial', tokens: 'estimated' },
  },
])
const TWICE = ['It is four, as I said before. ', 'It is four, as I said before. ']
const stopping = (delta: object) => chunk(delta) + chunk({}, 'stop')
const OTHERS: Wire[] = [
  {
    name: 'an empty reason on every chunk',
    stream:
      empty({ role: 'assistant', content: '' }) + empty({ content: 'It is ' }) + empty({ content: '4.' }) + ending(),
    want: answer,
  },
  {
    name: 'an empty reason on every chunk with a call',
    stream: empty({ role: 'assistant', content: '' }) + empty({ tool_calls: CALLS }) + ending('tool_calls'),
    want: { calls: one },
  },
  {
    name: 'an empty reason on every chunk, and the connection breaks',
    cut: true,
    stream: ROLE + empty({ content: 'It is ' }) + empty({ content: '4.' }),
    want: { status: 'partial', tokens: 'estimated' },
  },
  {
    name: 'an empty reason on every chunk, and the end',
    stream: ROLE + empty({ content: 'It is ' }) + empty({ content: '4.' }),
    want: { status: 'partial', tokens: 'estimated' },
  },
  {
    name: 'no reason, and the connection breaks',
    cut: true,
    stream: SAID,
    want: { status: 'partial', tokens: 'estimated' },
  },
  { name: 'no reason, and the end', stream: SAID, want: { status: 'partial', tokens: 'estimated' } },
  {
    name: 'a call after the reason',
    stream: SAID + chunk({}, 'stop') + chunk({ tool_calls: CALLS }) + USAGE_CHUNK + DONE,
    want: { ...answer, calls: one },
  },
  {
    name: 'a call in pieces after the reason',
    stream:
      SAID +
      chunk({}, 'stop') +
      chunk({ tool_calls: [fullCall(0, 'call_a', '')] }) +
      chunk({ tool_calls: [{ index: 0, function: { arguments: OSLO.slice(0, 5) } }] }) +
      chunk({ tool_calls: [{ index: 0, function: { arguments: OSLO.slice(5) } }] }) +
      USAGE_CHUNK +
      DONE,
    want: { ...answer, calls: one },
  },
  {
    name: 'a call after the reason tool_calls',
    stream: SAID + chunk({}, 'tool_calls') + chunk({ tool_calls: CALLS }) + USAGE_CHUNK + DONE,
    want: { ...answer, calls: one },
  },
  {
    name: 'the reason stop after every chunk',
    stream: ROLE + stopping({ content: 'It is ' }) + stopping({ content: '4.' }) + ending(),
    want: answer,
  },
  ...['stop', 'STOP'].map(
    (word): Wire => ({
      name: `the reason ${word} after every chunk, with a text that begins by repeating itself`,
      stream: ROLE + [...TWICE, ' Yes.'].map((content) => chunk({ content }) + chunk({}, word)).join('') + ending(),
      want: { text: `${TWICE.join('')} Yes.` },
    }),
  ),
  {
    name: 'the reason stop after every chunk, with a call',
    stream:
      ROLE +
      stopping({ content: 'It is ' }) +
      stopping({ content: '4.' }) +
      stopping({ tool_calls: [fullCall(0, 'call_a', '')] }) +
      stopping({ tool_calls: [{ index: 0, function: { arguments: OSLO.slice(0, 5) } }] }) +
      stopping({ tool_calls: [{ index: 0, function: { arguments: OSLO.slice(5) } }] }) +
      ending('tool_calls'),
    want: { ...answer, calls: one },
  },
  {
    name: 'the reason stop after every chunk, with a call alone, and nothing else',
    stream:
      stopping({ tool_calls: [fullCall(0, 'call_a', '')] }) +
      stopping({ tool_calls: [{ index: 0, function: { arguments: OSLO.slice(0, 5) } }] }) +
      stopping({ tool_calls: [{ index: 0, function: { arguments: OSLO.slice(5) } }] }) +
      USAGE_CHUNK,
    want: { calls: one },
  },
  ...['', '{}'].map(
    (text): Wire => ({
      name: `a call with the arguments ${text || 'of nothing'}, the reason stop, and the connection breaks`,
      cut: true,
      stream: ROLE + stopping({ tool_calls: [fullCall(0, 'call_a', text)] }) + USAGE_CHUNK,
      want: { calls: [{ name: 'weather', input: {}, id: 'call_a' }] },
    }),
  ),
  {
    name: 'the reason as an object',
    stream: SAID + ending({ type: 'length', length: 9 }),
    whole: wholeOf({ role: 'assistant', content: 'It is 4.' }, { type: 'length', length: 9 }),
    want: { ...answer, finish: 'length' },
  },
  { name: 'no reason before [DONE]', stream: SAID + USAGE_CHUNK + DONE, want: answer },
  { name: 'no reason before [DONE], with a call', stream: CALLED + USAGE_CHUNK + DONE, want: { calls: one } },
  {
    name: 'the reason twice',
    stream: SAID + chunk({}, 'stop') + chunk({}, 'stop', { usage: USAGE }) + DONE,
    want: answer,
  },
  {
    name: 'the reason again with the usage, as stop',
    stream: CALLED + chunk({}, 'tool_calls') + chunk({}, 'stop', { usage: USAGE }) + DONE,
    want: { calls: one },
  },
  {
    name: 'the reason stop before the length',
    stream: SAID + chunk({}, 'stop') + chunk({}, 'length', { usage: USAGE }) + DONE,
    want: { ...answer, finish: 'length' },
  },
  {
    name: 'the reason on the chunk with the text',
    stream: ROLE + chunk({ content: 'It is 4.' }, 'stop') + USAGE_CHUNK + DONE,
    want: answer,
  },
  { name: 'the reason and no [DONE]', stream: SAID + chunk({}, 'stop') + USAGE_CHUNK, want: answer },
  {
    name: 'the reason, and the connection breaks',
    cut: true,
    stream: SAID + chunk({}, 'stop') + USAGE_CHUNK,
    want: answer,
  },
  {
    name: 'the length amid a call',
    stream: ROLE + chunk({ tool_calls: CALLS }) + ending('length'),
    want: { calls: one, finish: 'length' },
  },
  { name: 'no reason in an answer', whole: wholeOf({ role: 'assistant', content: 'It is 4.' }, null), want: answer },
  {
    name: 'an empty reason in an answer',
    whole: wholeOf({ role: 'assistant', content: 'It is 4.' }, ''),
    want: answer,
  },
  {
    name: 'no reason in an answer with a call',
    whole: wholeOf({ role: 'assistant', content: null, tool_calls: CALLS }, null),
    want: { calls: one },
  },
  { name: 'a stream that says nothing', stream: ROLE + ending(), want: {} },
  {
    name: 'an empty reason of a stream',
    stream: streamOf([{ content: 'It is 4.' }], 'stop').replace('"finish_reason":null', '"finish_reason":""'),
    want: answer,
  },
]

wireTable([...worded, ...called, ...uncalled, ...failed, ...failedWhole, ...nullAsWord, ...OTHERS])
