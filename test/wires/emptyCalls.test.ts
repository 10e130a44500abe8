// Goal: a tool call without an id, a name and arguments is none, wherever a provider puts it: clients of every format get the
// text, the other calls and the reason.
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

wireTable([
  ...STREAMS,
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
