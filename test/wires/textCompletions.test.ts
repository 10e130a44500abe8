// Goal: a text completion in one piece is read whatever its provider makes of it, also where it is sent as a stream; failures are
// errors and free. One row a shape.
import { chunk, DONE, eventOf, ROLE, USAGE, USAGE_CHUNK, type Wire, wholeOf } from '../support/wires/wire.ts'
import { wireTable } from '../support/wires/wireTable.ts'

const piece = (text: string, finish: unknown = null, more: object = {}): string =>
  eventOf({ object: 'text_completion', choices: [{ index: 0, text, logprobs: null, finish_reason: finish, ...more }] })
const SAID = piece('It is ') + piece('4.')
const STREAM = SAID + piece('', 'stop') + USAGE_CHUNK + DONE
const said = { text: 'It is 4.' }
const REFUSED = { status: 'refused' } as const

const answer = (choice: object, more: object = {}): string =>
  JSON.stringify({
    id: 'up',
    object: 'text_completion',
    created: 7,
    model: 'm',
    choices: [choice],
    usage: USAGE,
    ...more,
  })

/** Streams for a request that asks for none. */
const STREAMS: [string, string, Wire['want']][] = [
  ['a stream', STREAM, said],
  ['CRLF', STREAM.replaceAll('\n', '\r\n'), said],
  ['comments and a byte order mark', `\uFEFF: hello\n\n${STREAM}`, said],
  ['names of events', STREAM.replaceAll('data: {', 'event: chunk\ndata: {'), said],
  ['no blank lines', `${STREAM.replaceAll('\n\n', '\n')}\n`, said],
  ['no [DONE]', SAID + piece('', 'stop') + USAGE_CHUNK, said],
  ['no reason', SAID + USAGE_CHUNK + DONE, said],
  ['the reason and usage with the last text', piece('It is ') + withUsage(piece('4.', 'stop')) + DONE, said],
  ['a limit', SAID + piece('', 'length') + USAGE_CHUNK + DONE, { ...said, finish: 'length' }],
  ['no usage', SAID + piece('', 'stop') + DONE, { ...said, tokens: 'estimated' }],
  ['chunks of a chat', ROLE + chunk({ content: 'It is 4.' }) + chunk({}, 'stop') + USAGE_CHUNK + DONE, said],
  ['a text that says nothing', piece('', 'stop') + USAGE_CHUNK + DONE, {}],
  ['broken off', SAID, REFUSED],
  ['an error', `data: {"error":{"message":"no"}}\n\n${DONE}`, REFUSED],
  ['an error after text', `${SAID}data: {"error":{"message":"no"}}\n\n${DONE}`, REFUSED],
  ['a reason that is a failure', SAID + piece('', 'error') + DONE, REFUSED],
  ['broken JSON', `${SAID}data: {"choices":\n\n${DONE}`, REFUSED],
]
const streamed = STREAMS.flatMap(([name, whole, want]): Wire[] => [
  { name, whole, wholeType: 'text/event-stream', want },
  { name: `${name}, labelled as JSON`, whole, want },
])

const WHOLE: Wire[] = [
  { name: 'a text', whole: answer({ index: 0, text: 'It is 4.', finish_reason: 'stop' }), want: said },
  { name: 'no reason', whole: answer({ index: 0, text: 'It is 4.', finish_reason: null }), want: said },
  { name: 'a chat', whole: wholeOf({ role: 'assistant', content: 'It is 4.' }), want: said },
  { name: 'a failure as the reason', whole: answer({ index: 0, text: 'It', finish_reason: 'error' }), want: REFUSED },
  { name: 'a page', whole: '<html>no</html>', want: REFUSED },
]

function withUsage(event: string): string {
  return event.replace('"choices"', `"usage":${JSON.stringify(USAGE)},"choices"`)
}

wireTable([...streamed, ...WHOLE], ['completions'])
