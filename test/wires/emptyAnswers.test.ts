// Goal: an answer without a choice is an error and free, in one piece and as a stream, also where usage is reported; one with an
// empty choice is an answer where it has a reason or reports usage. One row a shape.
import { describe } from 'node:test'
import {
  choiceChunk,
  chunk,
  DONE,
  ending,
  eventOf,
  ROLE,
  USAGE,
  USAGE_CHUNK,
  type Wire,
} from '../support/wires/wire.ts'
import { wireTable } from '../support/wires/wireTable.ts'

const HEAD = { id: 'up', created: 7, model: 'm' }
const REFUSED = { status: 'refused' } as const
const noChoices = (members: object): string => JSON.stringify({ ...HEAD, ...members })

/** Streams without a choice, for clients of every format. */
const STREAMS: [string, string][] = [
  ['nothing but [DONE]', DONE],
  ['usage alone', USAGE_CHUNK + DONE],
  ['usage without choices', eventOf({ usage: USAGE }) + DONE],
  ['usage behind [DONE]', DONE + USAGE_CHUNK],
  ['choices of null', eventOf({ choices: null, usage: USAGE }) + DONE],
  ['no choices, twice, and usage', eventOf({ choices: [] }) + eventOf({ choices: [] }) + USAGE_CHUNK + DONE],
  ['usage of the prompt alone', eventOf({ choices: [], usage: { ...USAGE, completion_tokens: 0 } }) + DONE],
  ['usage in x_groq', eventOf({ choices: [], x_groq: { usage: USAGE } }) + DONE],
  ['usage, and no end', USAGE_CHUNK],
]
const streamed = STREAMS.map(([name, stream]): Wire => ({ name, stream, want: REFUSED }))
const whole: Wire[] = [
  { name: 'no choices', stream: noChoices({ choices: [], usage: USAGE }), want: REFUSED },
  { name: 'no member for choices', stream: noChoices({ usage: USAGE }), want: REFUSED },
].map((wire) => ({ ...wire, whole: wire.stream }))
const joined = STREAMS.map(
  ([name, stream]): Wire => ({ name: `${name}, for an answer in one piece`, whole: stream, want: REFUSED }),
)

const CHATS: Wire[] = [
  { name: 'a role and usage', stream: ROLE + USAGE_CHUNK + DONE, whole: ROLE + USAGE_CHUNK + DONE, want: {} },
  { name: 'an empty delta and usage', stream: chunk({}, null, { usage: USAGE }) + DONE, want: {} },
  { name: 'a role alone', stream: ROLE + DONE, whole: ROLE + DONE, want: REFUSED },
  { name: 'a role and usage, and no end', stream: ROLE + USAGE_CHUNK, whole: ROLE + USAGE_CHUNK, want: REFUSED },
  { name: 'a reason', stream: chunk({}, 'stop') + USAGE_CHUNK + DONE, want: {} },
  { name: 'a role and a reason', stream: ROLE + ending(), want: {} },
  { name: 'a limit', stream: ROLE + ending('length'), want: { finish: 'length' } },
]

const EMPTY = choiceChunk({ index: 0, text: '', finish_reason: null })
const TEXTS: Wire[] = [
  { name: 'an empty text', stream: EMPTY + DONE, whole: EMPTY + DONE, want: REFUSED },
  {
    name: 'an empty text and a reason',
    stream: choiceChunk({ index: 0, text: '', finish_reason: 'stop' }) + USAGE_CHUNK + DONE,
    want: {},
  },
]

describe('chats', () => wireTable([...streamed, ...whole, ...joined, ...CHATS]))
describe('text completions', () => wireTable([...streamed, ...whole, ...joined, ...TEXTS], ['completions']))
