// Goal: a tool call without an id, a name and arguments is none, wherever a provider puts it: clients of every format get the
// text, the other calls and the reason. Arguments that stand for none are an empty object, unless they are a part of others.
import { call, fullCall, OSLO, one } from '../support/wires/sampleCalls.ts'
import { callStream, streamOf, type Wire, wholeOf } from '../support/wires/wire.ts'
import { wireTable } from '../support/wires/wireTable.ts'

const empty = (index: number) => call({ index, id: '', name: '', arguments: '' })
const STREAMS: Wire[] = (
  [
    ['behind a call', [[fullCall(0, 'call_a', OSLO)], [empty(1)]]],
    ['behind a call, with null', [[fullCall(0, 'call_a', OSLO)], [call({ index: 1, name: null, arguments: '' })]]],
    ['before a call', [[empty(0)], [fullCall(0, 'call_a', OSLO)]]],
    ['before a call of the next number', [[empty(0)], [fullCall(1, 'call_a', OSLO)]]],
  ] as const
).map(([name, deltas]) => ({ name, stream: callStream(deltas.map((calls) => [...calls])), want: { calls: one } }))

/** Arguments that servers write in Go or PHP write for none. */
const NONE = ['null', '[]']
const bare = [{ id: 'call_a', name: 'now', input: {} }]

wireTable([
  ...NONE.flatMap((text) => {
    const said = { index: 0, id: 'call_a', name: 'now', arguments: text }
    return [
      {
        name: `arguments ${JSON.stringify(text)}`,
        stream: callStream([[call(said)]]),
        whole: wholeOf({ role: 'assistant', content: null, tool_calls: [call(said)] }),
        want: { calls: bare },
      },
      {
        name: `arguments ${JSON.stringify(text)} behind the name`,
        stream: callStream([[call({ ...said, arguments: '' })], [call({ index: 0, arguments: text })]]),
        want: { calls: bare },
      },
    ]
  }),
  ...STREAMS,
  {
    name: 'an empty object amid the arguments of calls that come together',
    stream: callStream([
      [call({ index: 0, id: 'call_a', name: 'f', arguments: '' })],
      [call({ index: 0, arguments: '{"a":' })],
      [call({ index: 1, id: 'call_b', name: 'g', arguments: '' })],
      [call({ index: 0, arguments: '{}' }), call({ index: 1, arguments: '{"b":' })],
      [call({ index: 0, arguments: '}' })],
      [call({ index: 1, arguments: '[]' })],
      [call({ index: 1, arguments: '}' })],
    ]),
    want: {
      calls: [
        { id: 'call_a', name: 'f', input: { a: {} } },
        { id: 'call_b', name: 'g', input: { b: [] } },
      ],
    },
  },
  {
    name: 'beside text',
    stream: streamOf([{ content: 'It is 4.', tool_calls: [empty(0)] }]),
    whole: wholeOf({ role: 'assistant', content: 'It is 4.', tool_calls: [empty(0)] }),
    want: { text: 'It is 4.' },
  },
  {
    name: 'behind a call of an answer',
    whole: wholeOf({ role: 'assistant', content: null, tool_calls: [fullCall(0, 'call_a', OSLO), empty(1)] }),
    want: { calls: one },
  },
])
