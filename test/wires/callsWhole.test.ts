// Goal: the same for tool calls of answers in one piece.
import { BERGEN, bergen, call, fullCall, OSLO, one, oslo } from '../support/wires/sampleCalls.ts'
import { type Wire, wholeOf } from '../support/wires/wire.ts'
import { wireTable } from '../support/wires/wireTable.ts'

const message = (calls: unknown, content: unknown = null) => ({ role: 'assistant', content, tool_calls: calls })
const WHOLE: Wire[] = (
  [
    ['as documented', message([call({ id: 'call_a', name: 'weather', arguments: OSLO })]), one],
    [
      'without ids',
      message([fullCall(undefined, undefined, OSLO), fullCall(undefined, undefined, BERGEN)]),
      [oslo, bergen],
    ],
    [
      'with the same id for all',
      message([fullCall(0, 'call_a', OSLO), fullCall(0, 'call_a', BERGEN)]),
      [{ ...oslo, id: 'call_a' }, bergen],
    ],
    ['arguments as an object', message([fullCall(0, 'call_a', { city: 'Oslo' })]), one],
    ['arguments of null', message([fullCall(0, 'call_a', null)]), [{ name: 'weather', input: {}, id: 'call_a' }]],
    ['empty arguments', message([fullCall(0, 'call_a', '')]), [{ name: 'weather', input: {}, id: 'call_a' }]],
    ['without a type', message([{ id: 'call_a', function: { name: 'weather', arguments: OSLO } }]), one],
    ['name and arguments beside the id', message([{ id: 'call_a', name: 'weather', arguments: OSLO }]), one],
    [
      'a function_call of older providers',
      { role: 'assistant', content: null, function_call: { name: 'weather', arguments: OSLO } },
      [oslo],
    ],
    ['no content', { role: 'assistant', tool_calls: [fullCall(0, 'call_a', OSLO)] }, one],
    ['no role', { content: null, tool_calls: [fullCall(0, 'call_a', OSLO)] }, one],
  ] as [string, unknown, Wire['want']['calls']][]
).map(([name, said, calls]) => ({ name, whole: wholeOf(said, 'tool_calls'), want: { calls: calls ?? [] } }))

wireTable([
  ...WHOLE,
  {
    name: 'no call has a name',
    whole: wholeOf(message([{ id: 'call_a', function: { arguments: OSLO } }]), 'tool_calls'),
    want: { status: 'refused' },
  },
])
