// Goal: an answer is read whatever its label says, and whatever stands between, before and behind its events; what ends well
// after its reason is whole. One row a shape.
import { chunk, DONE, eventOf, ROLE, streamOf, USAGE_CHUNK, type Wire, wholeOf } from '../support/wires/wire.ts'
import { wireTable } from '../support/wires/wireTable.ts'

const BODY = ROLE + chunk({ content: 'It is ' }) + chunk({ content: '4.' }) + chunk({}, 'stop') + USAGE_CHUNK
const STREAM = BODY + DONE
const WHOLE = wholeOf({ role: 'assistant', content: 'It is 4.' })
const answer = { text: 'It is 4.' }

/** What may stand behind the usage. */
const ENDS: [string, string][] = [
  ['[DONE] with a blank', 'data: [DONE] \n\n'],
  ['[DONE] without a blank', 'data:[DONE]\n\n'],
  ['[DONE] with more blanks', 'data:   [DONE]\t\n\n'],
  ['[DONE] in quotes', 'data: "[DONE]"\n\n'],
  ['[done]', 'data: [done]\n\n'],
  ['[ DONE ]', 'data: [ DONE ]\n\n'],
  ['[DONE] without an end of line', 'data: [DONE]'],
  ['[DONE] with one end of line', 'data: [DONE]\n'],
  ['[DONE] twice', DONE + DONE],
  ['[DONE] with a name', 'event: done\ndata: [DONE]\n\n'],
  ['a word', 'data: finished\n\n'],
  ['a word, then [DONE]', `data: finished\n\n${DONE}`],
  ['broken JSON', `data: {"choices":\n\n${DONE}`],
  ['an array', `data: []\n\n${DONE}`],
  ['null', `data: null\n\n${DONE}`],
  ['statistics', `data: {"timings":{"predicted_ms":12.5}}\n\n${DONE}`],
  ['statistics as a text', `data: "12 tokens a second"\n\n${DONE}`],
  ['a page', `<html>bye</html>\n\n`],
  ['more of an answer behind [DONE]', DONE + chunk({ content: ' More.' })],
]
const ended = ENDS.map(([name, end]): Wire => ({ name: `behind the usage: ${name}`, stream: BODY + end, want: answer }))

/** What may stand before an event. */
const BETWEEN: [string, string][] = [
  ['a comment', ': keep-alive\n\n'],
  ['a comment without a blank line', ': keep-alive\n'],
  ['blank lines', '\n\n\n'],
  ['empty data', 'data:\n\n'],
  ['blank data', 'data:  \n\n'],
  ['null', 'data: null\n\n'],
  ['an empty object', 'data: {}\n\n'],
  ['an empty text', 'data: ""\n\n'],
  ['a number', 'data: 7\n\n'],
  ['an event without data', 'event: ping\n\n'],
  ['an id and a time to retry', 'id: 7\nretry: 100\n\n'],
  ['an error that is null', 'data: {"error":null}\n\n'],
]
const between = BETWEEN.map(([name, what]): Wire => {
  const stream = what + STREAM.replaceAll('data: {', `${what}data: {`)
  return { name: `before every event: ${name}`, stream, want: answer }
})

const LABELS = [
  'text/plain',
  'application/octet-stream',
  'application/x-ndjson',
  'application/json',
  'text/html; charset=utf-8',
  'TEXT/EVENT-STREAM',
]
const labelled = LABELS.map(
  (type): Wire => ({ name: `a stream labelled ${type}`, stream: STREAM, streamType: type, want: answer }),
)

/** How a stream that is labelled as something else begins. */
const BEGINNINGS: [string, string][] = [
  ['a byte order mark', `\uFEFF${STREAM}`],
  ['blank lines', `\n\r\n ${STREAM}`.replace(' data', 'data')],
  ['a comment', `: hello\n\n${STREAM}`],
  ['an event', STREAM.replaceAll('data: {', 'event: chunk\ndata: {')],
  ['an id', `id: 1\n${STREAM}`],
  ['a time to retry', `retry: 10\n${STREAM}`],
]
const beginnings = BEGINNINGS.map(
  ([name, stream]): Wire => ({
    name: `a stream labelled as text that begins with ${name}`,
    stream,
    streamType: 'text/plain',
    want: answer,
  }),
)

const FORMS: Wire[] = [
  {
    name: 'byte by byte, labelled as text',
    stream: `\uFEFF${STREAM}`,
    streamType: 'text/plain',
    writeBytes: 1,
    want: answer,
  },
  { name: 'CRLF', stream: STREAM.replaceAll('\n', '\r\n'), want: answer },
  { name: 'CR', stream: STREAM.replaceAll('\n', '\r'), want: answer },
  { name: 'no blank after the colon', stream: STREAM.replaceAll('data: ', 'data:'), want: answer },
  { name: 'the name of the field twice', stream: STREAM.replaceAll('data: ', 'data: data: '), want: answer },
  { name: 'no blank line between events', stream: `${STREAM.replaceAll('\n\n', '\n')}\n`, want: answer },
  { name: 'no blank line before [DONE]', stream: `${BODY.slice(0, -1)}${DONE}`, want: answer },
  { name: 'data over two lines', stream: STREAM.replaceAll('"choices":[', '"choices":\ndata: ['), want: answer },
  { name: 'an answer in one piece for a stream', stream: WHOLE, streamType: 'application/json', want: answer },
  {
    name: 'an answer in one piece for a stream, over many lines',
    stream: JSON.stringify(JSON.parse(WHOLE), null, 2),
    streamType: 'application/json',
    want: answer,
  },
  { name: 'an answer in one piece for a stream, labelled as one', stream: WHOLE, want: answer },
  {
    name: 'an answer in one piece for a stream, byte by byte',
    stream: `\n${WHOLE}\n`,
    streamType: 'application/json',
    writeBytes: 1,
    want: answer,
  },
  { name: 'a stream for an answer in one piece', whole: STREAM, wholeType: 'text/event-stream', want: answer },
  { name: 'a stream for an answer in one piece, labelled as JSON', whole: `: hello\n\n${STREAM}`, want: answer },
  {
    name: 'a stream that was cut for an answer in one piece',
    whole: ROLE + chunk({ content: 'It is ' }),
    want: { status: 'refused' },
  },
  {
    name: 'an error for a stream',
    stream: '{"error":{"message":"no"}}',
    streamType: 'application/json',
    want: { status: 'refused' },
  },
  { name: 'a page for a stream', stream: '<html>hello</html>', streamType: 'text/html', want: { status: 'refused' } },
  {
    name: 'half an answer in one piece for a stream',
    stream: WHOLE.slice(0, -20),
    streamType: 'application/json',
    want: { status: 'refused' },
  },
  { name: 'nothing for a stream', stream: '', streamType: 'text/plain', want: { status: 'refused' } },
  {
    name: 'broken JSON before the reason',
    stream: `${ROLE}${chunk({ content: 'It is ' })}data: {"choices":\n\n${STREAM}`,
    want: { status: 'partial', tokens: 'estimated' },
  },
  {
    name: 'an error behind the reason',
    stream: `${BODY}${eventOf({ error: { message: 'late' } })}${DONE}`,
    want: { status: 'partial' },
  },
  { name: 'an emoji over two writes', stream: streamOf([{ content: '😀' }]), writeBytes: 3, want: { text: '😀' } },
]

wireTable([...ended, ...between, ...labelled, ...beginnings, ...FORMS])
