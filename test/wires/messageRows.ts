import { streamOf } from '../support/wires/wire.ts'
import {
  begin,
  CALLED,
  called,
  delta,
  END,
  INPUT,
  NOTHING,
  OSLO,
  type Row,
  reason,
  SAID,
  START,
  STOP,
  said,
  saidAndCalled,
  stop,
  stream,
  TEXT,
  text,
  USAGE,
  USE,
  use,
  whole,
} from './messageEvents.ts'

const CALLS: Row[] = [
  { name: 'a call', stream: stream([START], use(0, USE, '{"city":', '"Oslo"}'), CALLED), got: called },
  {
    name: 'the input with the beginning of the call, and no deltas',
    stream: stream([START], use(0, { ...USE, input: INPUT }), CALLED),
    got: called,
  },
  {
    name: 'the input with the beginning of the call, and again in deltas',
    stream: stream([START], use(0, { ...USE, input: INPUT }, OSLO), CALLED),
    got: called,
  },
  {
    name: 'the input as text',
    stream: stream([START], use(0, { ...USE, input: OSLO }), CALLED),
    whole: whole([{ ...USE, input: OSLO }], 'tool_use'),
    got: called,
  },
  {
    name: 'empty pieces after the input',
    stream: stream([START], use(0, { ...USE, input: INPUT }, '', ''), CALLED),
    got: called,
  },
  {
    name: 'no input',
    stream: stream([START], use(0, { type: 'tool_use', id: 'toolu_1', name: 'weather' }), CALLED),
    whole: whole([{ type: 'tool_use', id: 'toolu_1', name: 'weather' }], 'tool_use'),
    got: { ...called, calls: [{ id: 'toolu_1', name: 'weather', arguments: '{}' }] },
  },
  {
    name: 'a call whose block does not end',
    stream: stream([START], use(0, { ...USE, input: INPUT }).slice(0, 1), CALLED),
    got: called,
  },
  {
    name: 'blocks with the same number',
    stream: stream([START], text(0, 'It is 4.'), use(0, USE, OSLO), CALLED),
    got: saidAndCalled,
  },
  {
    name: 'blocks with the same number that do not end',
    stream: stream([START], text(0, 'It is 4.').slice(0, 2), use(0, USE, OSLO).slice(0, 2), CALLED),
    got: saidAndCalled,
  },
  {
    name: 'blocks without a number',
    stream: stream([START], text(undefined, 'It is 4.'), use(undefined, USE, OSLO), CALLED),
    got: saidAndCalled,
  },
  {
    name: 'numbers from 1',
    stream: stream([START], text(1, 'It is 4.'), use(2, USE, OSLO), CALLED),
    got: saidAndCalled,
  },
  {
    name: 'end_turn beside a call',
    stream: stream([START], use(0, USE, OSLO), END),
    whole: whole([{ ...USE, input: INPUT }]),
    got: called,
  },
  {
    name: 'the reason of chat completions beside a call',
    stream: stream([START], use(0, USE, OSLO), [reason('tool_calls'), STOP]),
    whole: whole([{ ...USE, input: INPUT }], 'tool_calls'),
    got: called,
  },
  ...['tool_use', 'tool_calls'].map(
    (word): Row => ({
      name: `the reason ${word} without a call`,
      stream: stream(SAID, [reason(word), STOP]),
      whole: whole([TEXT], word),
      got: said,
    }),
  ),
  {
    name: 'no reason beside a call',
    stream: stream([START], use(0, USE, OSLO), [STOP]),
    isReported: false,
    got: called,
  },
  ...[undefined, null, ''].map(
    (id): Row => ({
      name: `${JSON.stringify(id)} as the id of a call`,
      stream: stream([START], use(0, { ...USE, id }, OSLO), CALLED),
      whole: whole([{ ...USE, id, input: INPUT }], 'tool_use'),
      got: { ...called, calls: called.calls.map((call) => ({ ...call, id: '' })) },
    }),
  ),
  {
    name: 'the same id twice',
    stream: stream([START], use(0, USE, OSLO), use(1, USE, OSLO), CALLED),
    whole: whole(
      [0, 1].map(() => ({ ...USE, input: INPUT })),
      'tool_use',
    ),
    got: { ...called, calls: called.calls.flatMap((call) => [call, { ...call, id: '' }]) },
  },
  {
    name: 'a call without a name',
    stream: stream([START], use(0, { ...USE, name: '' }, OSLO), CALLED),
    whole: whole([{ ...USE, name: null }], 'tool_use'),
  },
]

const TEXTS: Row[] = [
  { name: 'as documented', stream: stream(SAID, END), whole: whole([TEXT]), got: said },
  { name: 'a text as the content', whole: whole('It is 4.'), got: said },
  { name: 'null among the blocks', whole: whole([null, TEXT]), got: said },
  {
    name: 'no beginning of the message',
    stream: stream(text(0, 'It is 4.'), [reason('end_turn', USAGE), STOP]),
    got: said,
  },
  { name: 'the beginning of the message twice', stream: stream([START], SAID, END), got: said },
  {
    name: 'a beginning without usage and content',
    stream: stream([{ type: 'message_start', message: { id: 'x', role: 'assistant' } }], text(0, 'It is 4.'), [
      reason('end_turn', USAGE),
      STOP,
    ]),
    got: said,
  },
  {
    name: 'no beginning of the block',
    stream: stream([START], [delta(0, { type: 'text_delta', text: 'It is 4.' }), stop(0)], END),
    got: said,
  },
  {
    name: 'deltas without a type',
    stream: stream([START], [begin(0, { type: 'text', text: '' }), delta(0, { text: 'It is 4.' }), stop(0)], END),
    got: said,
  },
  { name: 'no end of the block', stream: stream(SAID.slice(0, -1), END), got: said },
  { name: 'no reason', stream: stream(SAID, [STOP]), isReported: false, got: said },
  { name: 'an empty reason', stream: stream(SAID, [reason(''), STOP]), got: said },
  { name: 'the reason twice', stream: stream(SAID, [reason('end_turn'), reason('end_turn'), STOP]), got: said },
  { name: 'no message_stop', stream: stream(SAID, [reason('end_turn')]), got: said },
  {
    name: 'the usage of the end in its delta',
    stream: stream(SAID, [
      { type: 'message_delta', delta: { stop_reason: 'end_turn', usage: { output_tokens: 5 } } },
      STOP,
    ]),
    got: said,
  },
  {
    name: 'the usage at the stop',
    stream: stream(SAID, [reason('end_turn', null), { ...STOP, usage: USAGE }]),
    got: said,
  },
  {
    name: 'null in place of texts',
    stream: stream(
      [
        START,
        begin(0, { type: 'thinking', thinking: null, signature: null }),
        stop(0),
        begin(1, { ...TEXT, text: null }),
      ],
      [delta(1, { type: 'text_delta', text: null }), delta(1, { type: 'text_delta', text: 'It is 4.' }), stop(1)],
      END,
    ),
    whole: whole([{ type: 'text', text: null }, TEXT]),
    got: said,
  },
  {
    name: 'null in place of input',
    stream: stream(
      [START, begin(0, USE), delta(0, { type: 'input_json_delta', partial_json: null })],
      [delta(0, { type: 'input_json_delta', partial_json: OSLO }), stop(0)],
      CALLED,
    ),
    got: called,
  },
  { name: 'no reason of an answer', whole: whole([TEXT], null), got: said },
  { name: 'no reason of an answer with a call', whole: whole([{ ...USE, input: INPUT }], undefined), got: called },
  { name: 'the reason error', stream: stream(SAID, [reason('error'), STOP]), got: 'partial' },
  // The usage alone is no answer.
  { name: 'the chunks of the other dialect', stream: streamOf([{ content: 'It is 4.' }]) },
  { name: 'no message_stop and no reason', stream: stream(SAID), isReported: false, got: 'partial' },
  { name: 'the connection ends amid a block', stream: stream(SAID.slice(0, -1)), isReported: false, got: 'partial' },
]
const WORDS = [
  ['stop', 'stop'],
  ['STOP', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['content_filter', 'content_filter'],
].map(
  ([word, finish = '']): Row => ({
    name: `the reason ${word}`,
    stream: stream(SAID, [reason(word), STOP]),
    whole: whole([TEXT], word),
    got: { ...said, finish },
  }),
)

const FORMS: Row[] = [
  { name: '[DONE] at the end', stream: `${stream(SAID, END)}data: [DONE]\n\n`, got: said },
  {
    name: '[DONE] in place of message_stop',
    stream: `${stream(SAID, [reason('end_turn')])}data: [DONE]\n\n`,
    got: said,
  },
  { name: 'junk after the reason', stream: `${stream(SAID, [reason('end_turn')])}data: {"cost":\n\n`, got: said },
  { name: 'empty data', stream: `data: \n\ndata: null\n\n${stream(SAID, END)}`, got: said },
  { name: 'no names of events', stream: stream(SAID, END).replaceAll(/^event: .*\n/gm, ''), got: said },
  { name: 'no blank lines', stream: stream(SAID, END).replaceAll('\n\n', '\n'), got: said },
  { name: 'the name of the field twice', stream: stream(SAID, END).replaceAll('data: ', 'data: data: '), got: said },
  { name: 'a byte order mark', whole: `\ufeff${whole([TEXT])}`, got: said },
  { name: 'events that nobody knows', stream: stream([{ type: 'vertex_event', code: 1 }], SAID, END), got: said },
  { name: 'an empty error', whole: whole([TEXT], 'end_turn', { error: {} }), got: said },
]

const FAILURES = [
  { type: 'error', error: { type: 'overloaded_error', message: 'busy' } },
  { type: 'error', message: 'busy' },
  { error: { message: 'busy' } },
  { error: 'busy' },
  { detail: 'busy' },
  { code: 500, message: 'busy' },
].flatMap((failure): Row[] => {
  const event = `data: ${JSON.stringify(failure)}\n\n`
  const name = JSON.stringify(failure)
  return [
    {
      name: `${name} after output`,
      stream: `${stream(SAID)}${event}${stream([STOP])}`,
      isReported: false,
      got: 'partial',
    },
    { name: `${name} before output`, stream: `${stream([START])}${event}${stream([STOP])}` },
    { name, whole: JSON.stringify(failure) },
  ]
})

/** A message with neither blocks nor a reason is none, whatever its usage; with either it is an answer. */
const EMPTY: Row[] = [
  { name: 'no blocks and no reason', stream: stream([START, STOP]), whole: whole([], null) },
  {
    name: 'no blocks and no reason, but usage at the stop',
    stream: stream([START, { ...STOP, usage: USAGE }]),
    whole: whole([], ''),
  },
  { name: 'no blocks, usage without a reason', stream: stream([START, reason(null), STOP]) },
  {
    name: 'a stream without blocks and a reason for an answer in one piece',
    whole: stream([START, reason(null), STOP]),
  },
  { name: 'an answer in one piece without blocks and a reason for a stream', stream: whole([], null) },
  { name: 'no blocks and a reason', stream: stream([START], END), whole: whole([]), got: NOTHING },
  {
    name: 'no blocks and a limit',
    stream: stream([START, reason('max_tokens'), STOP]),
    whole: whole([], 'max_tokens'),
    got: { ...NOTHING, finish: 'length' },
  },
  {
    name: 'an empty text and no reason',
    stream: stream([START], text(0), [reason(null), STOP]),
    whole: whole([{ type: 'text', text: '' }], null),
    got: NOTHING,
  },
]

/** The table. */
export const ROWS: readonly Row[] = [...CALLS, ...TEXTS, ...WORDS, ...FORMS, ...FAILURES, ...EMPTY]
