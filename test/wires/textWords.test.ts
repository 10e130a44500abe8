// Goal: clients of text completions get the text and one of the format's words for its end, whatever words and members their
// provider has for them. One row a shape.
import { choiceChunk, DONE, USAGE, USAGE_CHUNK, type Wire } from '../support/wires/wire.ts'
import { wireTable } from '../support/wires/wireTable.ts'

const WORDS = [
  ['eos_token', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_calls', 'stop'],
  ['max_tokens', 'length'],
  ['MAX_TOKENS', 'length'],
  ['safety', 'content_filter'],
] as const

const piece = (text: string, reason: string | null = null) => choiceChunk({ index: 0, text, finish_reason: reason })
const whole = (choice: object) => JSON.stringify({ id: 'up', created: 7, model: 'm', choices: [choice], usage: USAGE })

const worded = WORDS.flatMap(([word, finish]): Wire[] => [
  {
    name: `the reason ${word}`,
    stream: piece('It is') + piece(' 4.') + piece('', word) + USAGE_CHUNK + DONE,
    whole: whole({ index: 0, text: 'It is 4.', logprobs: null, finish_reason: word }),
    want: { text: 'It is 4.', finish },
  },
  {
    name: `the reason ${word} with the text`,
    stream: piece('It is 4.', word) + USAGE_CHUNK + DONE,
    want: { text: 'It is 4.', finish },
  },
])

const WHOLE: readonly Wire[] = [
  ['no number and no reason', { text: 'It is 4.' }],
  ['the message of a chat', { message: { role: 'assistant', content: 'It is 4.' }, finish_reason: 'stop' }],
  ['a delta', { index: 0, text: null, delta: { content: 'It is 4.' }, finish_reason: 'stop' }],
].map(([name, choice]): Wire => ({ name: String(name), whole: whole(choice as object), want: { text: 'It is 4.' } }))

wireTable(
  [
    ...worded,
    ...WHOLE,
    {
      name: 'the reason error',
      whole: whole({ index: 0, text: 'It', finish_reason: 'error' }),
      want: { status: 'refused' },
    },
  ],
  ['completions'],
)
