// Goal: a last delta that has the whole text of the answer once more does not reach clients of any format, and what only looks
// like one does. One row a shape.
import { describe } from 'node:test'
import { fullCall, OSLO, one } from '../support/wires/sampleCalls.ts'
import { chunk, DONE, eventOf, ROLE, streamOf, USAGE_CHUNK, type Wire } from '../support/wires/wire.ts'
import { wireTable } from '../support/wires/wireTable.ts'

const text = (said: string) => ({ type: 'text', text: said })
const whole = 'It is 4, because 2 and 2 are 4.'
const pieces = [{ content: 'It is 4, ' }, { content: 'because 2 and 2 ' }, { content: 'are 4.' }]
const long = Array.from({ length: 200 }, (_, i) => `sentence ${i} ü"\\ `)
const longPieces = long.map((content) => ({ content }))
const inPieces = (texts: readonly object[]): string => ROLE + texts.map((delta) => chunk(delta)).join('')
const finished = (content: string, more: object = {}): string =>
  chunk({ content, ...more }, 'stop') + USAGE_CHUNK + DONE

/** The last delta has the whole text once more. */
const REPEATED: Wire[] = [
  { name: 'the whole text with the reason', stream: inPieces(pieces) + finished(whole), want: { text: whole } },
  {
    name: 'the whole text before the reason',
    stream: streamOf([...pieces, { content: whole }]),
    want: { text: whole },
  },
  {
    name: 'the whole text before [DONE] without a reason',
    stream: inPieces([...pieces, { content: whole }]) + USAGE_CHUNK + DONE,
    want: { text: whole },
  },
  {
    name: 'the whole text in two reads',
    stream: inPieces(pieces) + finished(whole),
    writeBytes: 7,
    want: { text: whole },
  },
  {
    name: 'a long text in many pieces, with the reason',
    stream: inPieces(longPieces) + finished(long.join('')),
    want: { text: long.join('') },
  },
  {
    name: 'a long text in many pieces, before the reason',
    stream: streamOf([...longPieces, { content: long.join('') }]),
    want: { text: long.join('') },
  },
  {
    name: 'the whole text behind reasoning',
    stream: streamOf([{ reasoning_content: '2 and 2' }, ...pieces, { content: whole }]),
    want: { text: whole, reasoning: '2 and 2' },
  },
  {
    name: 'the whole text in parts',
    stream: streamOf([...pieces.map(({ content }) => ({ content: [text(content)] })), { content: [text(whole)] }]),
    want: { text: whole },
  },
  {
    name: 'the whole text behind one piece',
    stream: inPieces([{ content: `${whole} Yes.` }]) + finished(`${whole} Yes.`),
    want: { text: `${whole} Yes.` },
  },
  {
    name: 'the whole text with another member',
    stream: inPieces(pieces) + finished(whole, { role: 'assistant', refusal: null }),
    want: { text: whole },
  },
]

const thoughts = [{ reasoning_content: 'First 2, ' }, { reasoning_content: 'then 2 "more" ü.' }]
const thought = 'First 2, then 2 "more" ü.'
const saidThoughts = { text: whole, reasoning: thought }

/** The reasoning comes once more as a whole. */
const RETHOUGHT: Wire[] = [
  {
    name: 'the whole reasoning with the reason',
    stream: inPieces([...thoughts, ...pieces]) + chunk({ reasoning_content: thought }, 'stop') + USAGE_CHUNK + DONE,
    want: saidThoughts,
  },
  {
    name: 'the whole reasoning before the reason',
    stream: streamOf([...thoughts, ...pieces, { reasoning_content: thought }]),
    want: saidThoughts,
  },
  {
    name: 'the whole reasoning before the text',
    stream: streamOf([...thoughts, { reasoning_content: thought }, ...pieces]),
    want: saidThoughts,
  },
  {
    name: 'the whole reasoning in the first delta with text',
    stream: streamOf([...thoughts, { reasoning_content: thought, content: pieces[0]?.content }, ...pieces.slice(1)]),
    want: saidThoughts,
  },
  {
    name: 'the whole reasoning before a call',
    stream: streamOf(
      [...thoughts, { reasoning_content: thought }, { tool_calls: [fullCall(0, 'call_a', OSLO)] }],
      'tool_calls',
    ),
    want: { reasoning: thought, calls: one },
  },
  {
    name: 'the whole reasoning in the delta of a call',
    stream: streamOf(
      [...thoughts, { reasoning_content: thought, tool_calls: [fullCall(0, 'call_a', OSLO)] }],
      'tool_calls',
    ),
    want: { reasoning: thought, calls: one },
  },
  {
    name: 'the whole reasoning and the whole text in one delta with the reason',
    stream: inPieces([...thoughts, ...pieces]) + finished(whole, { reasoning_content: thought }),
    want: saidThoughts,
  },
  {
    name: 'the whole reasoning and the whole text in one delta before the reason',
    stream: streamOf([...thoughts, ...pieces, { content: whole, reasoning_content: thought }]),
    want: saidThoughts,
  },
  {
    name: 'the whole reasoning, then the whole text, each in its delta',
    stream: streamOf([...thoughts, ...pieces, { reasoning_content: thought }, { content: whole }]),
    want: saidThoughts,
  },
  {
    name: 'the whole text, then the whole reasoning, each in its delta',
    stream: streamOf([...thoughts, ...pieces, { content: whole }, { reasoning_content: thought }]),
    want: saidThoughts,
  },
  {
    name: 'the whole reasoning under two names',
    stream: streamOf([
      ...thoughts.map(({ reasoning_content: said }) => ({ reasoning_content: said, reasoning: said })),
      ...pieces,
      { reasoning_content: thought, reasoning: thought },
    ]),
    want: saidThoughts,
  },
  {
    name: 'the whole reasoning next to its details',
    stream: streamOf([
      ...thoughts.map(({ reasoning_content: said }) => ({
        reasoning: said,
        reasoning_details: [{ type: 'reasoning.text', text: said }],
      })),
      ...pieces,
      { reasoning: thought, reasoning_details: [{ type: 'reasoning.text', text: thought }] },
    ]),
    want: saidThoughts,
  },
  {
    name: 'the whole reasoning under a name that no client knows',
    stream: streamOf([
      ...thoughts.map(({ reasoning_content: said }) => ({ thinking: said })),
      ...pieces,
      { thinking: thought },
    ]),
    want: saidThoughts,
  },
  {
    name: 'the whole reasoning of an answer that ends in it',
    stream: streamOf([...thoughts, { reasoning_content: thought }], 'length'),
    want: { reasoning: thought, finish: 'length' },
  },
]

/** A delta that is like all before it, but a part of the answer. */
const SAID_TWICE: Wire[] = [
  {
    name: 'the same sentence twice, then another one',
    stream: streamOf([...pieces, { content: whole }, { content: ' Yes.' }]),
    want: { text: `${whole}${whole} Yes.` },
  },
  {
    name: 'the same piece twice',
    stream: streamOf([{ content: 'Hurrah! ' }, { content: 'Hurrah! ' }]),
    want: { text: 'Hurrah! Hurrah! ' },
  },
  {
    name: 'a short text twice',
    stream: streamOf([{ content: 'ha' }, { content: 'ha' }, { content: 'haha' }]),
    want: { text: 'hahahaha' },
  },
  {
    name: 'a last piece as long as all before it',
    stream: streamOf([{ content: 'one two ' }, { content: 'three fo' }, { content: 'ur five six seve' }]),
    want: { text: 'one two three four five six seve' },
  },
  {
    name: 'one as long that begins alike',
    stream: streamOf([{ content: 'one two ' }, { content: 'three fo' }, { content: 'one two threexfo' }]),
    want: { text: 'one two three foone two threexfo' },
  },
  {
    name: 'the same sentence twice, then a call',
    stream: streamOf([...pieces, { content: whole }, { tool_calls: [fullCall(0, 'call_a', OSLO)] }], 'tool_calls'),
    want: { text: whole + whole, calls: one },
  },
]

/** A piece of reasoning that is like all before it, but a part of the reasoning. */
const THOUGHT_TWICE: Wire[] = [
  {
    name: 'the same thought twice, then another one',
    stream: streamOf([...thoughts, { reasoning_content: thought }, { reasoning_content: ' Yes.' }, ...pieces]),
    want: { text: whole, reasoning: `${thought}${thought} Yes.` },
  },
  {
    name: 'the same thought twice, the second time with a text, then another one',
    stream: streamOf([...thoughts, { reasoning_content: thought, content: 'ha' }, { reasoning_content: '!' }]),
    want: { text: 'ha', reasoning: `${thought}${thought}!` },
  },
  {
    name: 'a text that is the reasoning',
    stream: streamOf([...thoughts, { content: thought }]),
    want: { text: thought, reasoning: thought },
  },
]

const written = (said: string, reason: string | null = null): string =>
  eventOf({ object: 'text_completion', choices: [{ index: 0, text: said, logprobs: null, finish_reason: reason }] })
const inTexts = (texts: readonly string[]): string => texts.map((said) => written(said)).join('')
const texts = pieces.map(({ content }) => content)
const textEnd = written('', 'stop') + USAGE_CHUNK + DONE

/** Text completions, whose chunks have texts in place of deltas. */
const COMPLETIONS: Wire[] = [
  {
    name: 'the whole text with the reason',
    stream: inTexts(texts) + written(whole, 'stop') + USAGE_CHUNK + DONE,
    want: { text: whole },
  },
  { name: 'the whole text before the reason', stream: inTexts([...texts, whole]) + textEnd, want: { text: whole } },
  {
    name: 'the whole text before [DONE] without a reason',
    stream: inTexts([...texts, whole]) + USAGE_CHUNK + DONE,
    want: { text: whole, finish: '' },
  },
  {
    name: 'a long text in many pieces and reads',
    stream: inTexts([...long, long.join('')]) + textEnd,
    writeBytes: 997,
    want: { text: long.join('') },
  },
  {
    name: 'the same sentence twice, then another one',
    stream: inTexts([...texts, whole, ' Yes.']) + textEnd,
    want: { text: `${whole}${whole} Yes.` },
  },
  {
    name: 'a short text twice',
    stream: inTexts(['ha', 'ha', 'haha']) + textEnd,
    want: { text: 'hahahaha' },
  },
  {
    name: 'a last piece with the reason',
    stream: inTexts(texts) + written(' Yes.', 'length') + USAGE_CHUNK + DONE,
    want: { text: `${whole} Yes.`, finish: 'length' },
  },
]

describe('chats', () => wireTable([...REPEATED, ...RETHOUGHT, ...SAID_TWICE, ...THOUGHT_TWICE]))
describe('text completions', () => wireTable(COMPLETIONS, ['completions']))
