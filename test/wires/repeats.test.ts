// Goal: a last delta that has the whole text of the answer once more does not reach clients of any format, and what only looks
// like one does. One row a shape.
import { fullCall, OSLO, one } from '../support/wires/sampleCalls.ts'
import { chunk, DONE, ROLE, streamOf, USAGE_CHUNK, type Wire } from '../support/wires/wire.ts'
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

wireTable([...REPEATED, ...SAID_TWICE])
