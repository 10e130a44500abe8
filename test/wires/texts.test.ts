// Goal: text, reasoning and refusals reach the clients of every format, under whatever name and in whatever parts the
// provider sends them. One row a shape.

import {
  choiceChunk,
  chunk,
  DONE,
  ending,
  eventOf,
  ROLE,
  streamOf,
  USAGE,
  USAGE_CHUNK,
  type Wire,
  wholeOf,
} from '../support/wires/wire.ts'
import { wireTable } from '../support/wires/wireTable.ts'

const text = (said: string) => ({ type: 'text', text: said })
const thinking = (said: string) => ({ type: 'thinking', thinking: [text(said)] })
const answer = { text: 'It is 4.' }
const thought = { text: 'It is 4.', reasoning: '2 and 2' }

/** The same members as deltas and as a message. */
function said(name: string, deltas: readonly object[], message: object, want: Wire['want']): Wire {
  return { name, stream: streamOf(deltas), whole: wholeOf({ role: 'assistant', content: null, ...message }), want }
}

/** Reasoning in one member, then the answer. */
function reasoned(name: string, first: unknown, second: unknown, whole: unknown): Wire {
  const deltas = [{ [name]: first }, { [name]: second }, { content: 'It is ' }, { content: '4.' }]
  return said(`reasoning as ${name}`, deltas, { [name]: whole, content: 'It is 4.' }, thought)
}

const SAID: Wire[] = [
  said('as documented', [{ content: 'It is ' }, { content: '4.' }], { content: 'It is 4.' }, answer),
  said(
    'parts of text',
    [{ content: [text('It is ')] }, { content: [text('4.')] }],
    { content: [text('It is '), text('4.')] },
    answer,
  ),
  said(
    'parts, then texts',
    [{ content: [thinking('2 and 2')] }, { content: [text('It is ')] }, { content: '4.' }],
    { content: [thinking('2 and 2'), text('It is 4.')] },
    thought,
  ),
  said(
    'texts, then parts',
    [{ content: 'It is ' }, { content: [text('4.')] }],
    { content: [text('It is '), '4.'] },
    answer,
  ),
  said(
    'thinking that is a text',
    [{ content: [{ type: 'thinking', thinking: '2 and 2' }, text('It is 4.')] }],
    { content: [{ type: 'thinking', thinking: '2 and 2' }, text('It is 4.')] },
    thought,
  ),
  said(
    'a part of reasoning',
    [{ content: [{ type: 'reasoning', text: '2 and 2' }, text('It is 4.')] }],
    { content: [{ type: 'reasoning', text: '2 and 2' }, text('It is 4.')] },
    thought,
  ),
  said(
    'a part with a summary of reasoning',
    [{ content: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: '2 and 2' }] }, text('It is 4.')] }],
    { content: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: '2 and 2' }] }, text('It is 4.')] },
    thought,
  ),
  said(
    'a part that is marked as a thought',
    [{ content: [{ type: 'text', thought: true, text: '2 and 2' }, text('It is 4.')] }],
    { content: [{ type: 'text', thought: true, text: '2 and 2' }, text('It is 4.')] },
    thought,
  ),
  said(
    'a part of output_text',
    [{ content: [{ type: 'output_text', text: 'It is 4.' }] }],
    { content: [{ type: 'output_text', text: 'It is 4.' }] },
    answer,
  ),
  said(
    'a part of an unknown type',
    [{ content: [{ type: 'brand_new', text: 'It is 4.' }] }],
    { content: [{ type: 'brand_new', text: 'It is 4.' }] },
    answer,
  ),
  said(
    'a part without a text',
    [{ content: [{ type: 'citation', at: 3 }, text('It is 4.')] }],
    { content: [{ type: 'citation', at: 3 }, text('It is 4.')] },
    answer,
  ),
  said(
    'a part that is a refusal',
    [{ content: [{ type: 'refusal', refusal: 'I will not.' }] }],
    { content: [{ type: 'refusal', refusal: 'I will not.' }] },
    { refusal: 'I will not.' },
  ),
  said('one part in place of an array', [{ content: text('It is 4.') }], { content: text('It is 4.') }, answer),
  said(
    'a refusal',
    [{ refusal: 'I will ' }, { refusal: 'not.' }],
    { refusal: 'I will not.' },
    { refusal: 'I will not.' },
  ),
  said(
    'nulls beside the text',
    [{ content: 'It is 4.', refusal: null, reasoning_content: null, tool_calls: null, function_call: null }],
    { content: 'It is 4.', refusal: null, reasoning_content: null, tool_calls: null },
    answer,
  ),
  said(
    'empty texts beside the reasoning',
    [
      { content: '', reasoning_content: '2 and 2' },
      { content: 'It is 4.', reasoning_content: '' },
    ],
    { content: 'It is 4.', reasoning_content: '2 and 2' },
    thought,
  ),
  said('text under the name text', [{ text: 'It is ' }, { text: '4.' }], { text: 'It is 4.' }, answer),
  reasoned('reasoning_content', '2 ', 'and 2', '2 and 2'),
  reasoned('reasoning', '2 ', 'and 2', '2 and 2'),
  reasoned('thinking', '2 ', 'and 2', '2 and 2'),
  reasoned('reasoning_text', '2 ', 'and 2', '2 and 2'),
  reasoned('reasoning_content', [text('2 ')], [text('and 2')], [text('2 and 2')]),
  reasoned(
    'reasoning_details',
    [{ type: 'reasoning.text', text: '2 ' }],
    [{ type: 'reasoning.text', text: 'and 2' }],
    [{ type: 'reasoning.text', text: '2 and 2' }],
  ),
  said(
    'reasoning under two names',
    [
      { reasoning: '2 and 2', reasoning_details: [{ type: 'reasoning.text', text: '2 and 2' }] },
      { content: 'It is 4.' },
    ],
    { content: 'It is 4.', reasoning: '2 and 2', reasoning_details: [{ type: 'reasoning.text', text: '2 and 2' }] },
    thought,
  ),
  said(
    'a function call that is null',
    [{ content: 'It is 4.', function_call: null }],
    { content: 'It is 4.', function_call: null },
    answer,
  ),
  said(
    'special characters',
    [{ content: 'ü"\\\n' }, { content: '\u2028😀' }],
    { content: 'ü"\\\n\u2028😀' },
    { text: 'ü"\\\n\u2028😀' },
  ),
]

const message = (content: string) => ({ index: 0, message: { role: 'assistant', content }, finish_reason: null })
const MESSAGES: Wire[] = [
  {
    name: 'messages in place of deltas, in pieces',
    stream: choiceChunk(message('It is')) + choiceChunk(message(' 4.')) + ending(),
    want: answer,
  },
  {
    name: 'messages in place of deltas, each with all before',
    stream: choiceChunk(message('It is')) + choiceChunk(message('It is 4.')) + ending(),
    want: answer,
  },
  {
    name: 'a whole message at the end',
    stream:
      ROLE +
      chunk({ content: 'It is ' }) +
      chunk({ content: '4.' }) +
      eventOf({
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', content: 'It is 4.' }, finish_reason: 'stop' }],
        usage: USAGE,
      }) +
      DONE,
    want: answer,
  },
  {
    name: 'a whole message beside every delta',
    stream:
      ROLE +
      choiceChunk({ index: 0, delta: { content: 'It is ' }, message: { content: 'It is ' }, finish_reason: null }) +
      choiceChunk({ index: 0, delta: { content: '4.' }, message: { content: 'It is 4.' }, finish_reason: null }) +
      ending(),
    want: answer,
  },
  {
    name: 'a whole message beside an empty delta at the end',
    stream:
      ROLE +
      chunk({ content: 'It is 4.' }) +
      choiceChunk({ index: 0, delta: {}, message: { content: 'It is 4.' }, finish_reason: 'stop' }) +
      USAGE_CHUNK +
      DONE,
    want: answer,
  },
  {
    name: 'a whole message alone',
    stream:
      eventOf({
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', content: 'It is 4.' }, finish_reason: 'stop' }],
        usage: USAGE,
      }) + DONE,
    want: answer,
  },
  {
    name: 'a choice without an index',
    stream: ROLE + choiceChunk({ delta: { content: 'It is 4.' }, finish_reason: null }) + ending(),
    want: answer,
  },
  {
    name: 'a choice without a delta',
    stream:
      ROLE + chunk({ content: 'It is 4.' }) + choiceChunk({ index: 0, finish_reason: 'stop' }) + USAGE_CHUNK + DONE,
    want: answer,
  },
  {
    name: 'a delta that is null',
    stream: ROLE + chunk({ content: 'It is 4.' }) + chunk(null, 'stop') + USAGE_CHUNK + DONE,
    want: answer,
  },
  {
    name: 'chunks without choices',
    stream: eventOf({}) + eventOf({ choices: null }) + eventOf({ choices: [] }) + streamOf([{ content: 'It is 4.' }]),
    want: answer,
  },
]

wireTable([...SAID, ...MESSAGES])
