// Goal: members of another JSON type than the documentation gives them, and empty ones where others leave them out, do not
// reach clients of any format, and cost no answer. One row a shape.
import { fullCall, OSLO, one, oslo } from '../support/wires/sampleCalls.ts'
import {
  callStream,
  choiceChunk,
  chunk,
  ending,
  eventOf,
  ROLE,
  streamOf,
  type Wire,
  wholeOf,
} from '../support/wires/wire.ts'
import { wireTable } from '../support/wires/wireTable.ts'

const CALL = fullCall(0, 'call_a', OSLO)
const SAID = { index: 0, delta: { content: 'It is 4.' }, finish_reason: null }
const answer = { text: 'It is 4.' }
const message = { role: 'assistant', content: 'It is 4.' }

const CALLS: Wire[] = [
  {
    name: 'one call in place of a list',
    stream: streamOf([{ tool_calls: CALL }], 'tool_calls'),
    whole: wholeOf({ role: 'assistant', tool_calls: CALL }, 'tool_calls'),
    want: { calls: one },
  },
  {
    name: 'null beside a call',
    stream: callStream([[null, CALL]]),
    whole: wholeOf({ role: 'assistant', tool_calls: [null, CALL] }, 'tool_calls'),
    want: { calls: one },
  },
  {
    name: 'a call without members in a later piece',
    stream: callStream([[CALL], [{ index: 0 }]]),
    want: { calls: one },
  },
  {
    name: 'null as the function of a later piece',
    stream: callStream([[CALL], [{ index: 0, function: null }]]),
    want: { calls: one },
  },
  {
    name: 'numbers as text',
    stream: callStream([[fullCall('0', 'call_a', '')], [{ index: '0', function: { arguments: OSLO } }]]),
    want: { calls: one },
  },
  ...['parameters', 'input'].flatMap((name): Wire[] => {
    const given = (value: unknown) => ({
      index: 0,
      id: 'call_a',
      type: 'function',
      function: { name: 'weather', [name]: value },
    })
    return [OSLO, oslo.input].map((value) => ({
      name: `arguments named ${name}, as ${typeof value}`,
      stream: callStream([[given(value)]]),
      whole: wholeOf({ role: 'assistant', content: null, tool_calls: [given(value)] }, 'tool_calls'),
      want: { calls: one },
    }))
  }),
  {
    name: 'null for all calls',
    stream: streamOf([{ content: 'It is 4.', tool_calls: null, function_call: null }]),
    whole: wholeOf({ ...message, tool_calls: null, function_call: null }),
    want: answer,
  },
]

const CHOICES: Wire[] = [
  { name: 'null beside the choice', stream: ROLE + eventOf({ choices: [SAID, null] }) + ending(), want: answer },
  { name: 'null before the choice', stream: ROLE + eventOf({ choices: [null, SAID] }) + ending(), want: answer },
  {
    name: 'null as the choice of a chunk',
    stream: ROLE + eventOf({ choices: [null] }) + chunk({ content: 'It is 4.' }) + ending(),
    want: answer,
  },
  {
    name: 'null as the choices of a chunk',
    stream: ROLE + eventOf({ choices: null }) + chunk({ content: 'It is 4.' }) + ending(),
    want: answer,
  },
  {
    name: 'null as the delta',
    stream: ROLE + choiceChunk({ ...SAID, delta: null }) + choiceChunk(SAID) + ending(),
    want: answer,
  },
  {
    name: 'an answer whose choices are null',
    whole: JSON.stringify({ choices: [null], usage: { prompt_tokens: 10, completion_tokens: 5 } }),
    want: { status: 'refused' },
  },
  {
    name: 'null beside the choice of an answer',
    whole: wholeOf(message).replace('"choices":[', '"choices":[null,'),
    want: answer,
  },
]

/** Errors that are none. */
const NO_ERRORS = [null, false, 0, '', [], {}, { code: 0, message: '' }, { message: null }].map((error): Wire => {
  const text = JSON.stringify(error)
  return {
    name: `the error ${text} beside the choices`,
    stream: ROLE + chunk({ content: 'It is 4.' }, null, { error }) + ending(),
    whole: wholeOf(message, 'stop', { error }),
    want: answer,
  }
})

const WHOLE: Wire[] = [
  { name: 'a byte order mark before an answer', whole: `\ufeff${wholeOf(message)}`, want: answer },
  { name: 'blanks before an answer', whole: `\n   \n${wholeOf(message)}`, want: answer },
]

wireTable([...CALLS, ...CHOICES, ...NO_ERRORS, ...WHOLE])
