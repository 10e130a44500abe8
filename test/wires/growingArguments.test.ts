// Goal: a provider that sends all arguments of a call so far with every piece, as Qianfan does (NousResearch/hermes-agent#35592),
// makes the same call as one that sends each once; and arguments with objects that look like others stay as they are. One row a shape.
import { BERGEN, both, fullCall, OSLO, one, oslo } from '../support/wires/sampleCalls.ts'
import { callStream, type Wire } from '../support/wires/wire.ts'
import { wireTable } from '../support/wires/wireTable.ts'

const GROWING = ['{', '{"ci', '{"city":', '{"city":', '{"city":"Os', OSLO, OSLO]
const NESTED = { a: { a: { a: 1 } } }
const piece = (index: number, text: string) => ({ index, function: { arguments: text } })

const ROWS: [name: string, deltas: unknown[][], calls: Wire['want']['calls']][] = [
  ['with the arguments alone', [[fullCall(0, 'call_a', '')], ...GROWING.map((text) => [piece(0, text)])], one],
  ['with id and name', GROWING.map((text) => [fullCall(0, 'call_a', text)]), one],
  ['with name, without id', GROWING.slice(1).map((text) => [fullCall(0, undefined, text)]), [oslo]],
  ['from the beginning', [[fullCall(0, 'call_a', '{"c')], [piece(0, OSLO)]], one],
  [
    'of two calls',
    [
      ...GROWING.map((text) => [fullCall(0, 'call_a', text)]),
      [fullCall(1, 'call_b', '{"city":"B')],
      [piece(1, BERGEN)],
    ],
    both,
  ],
  [
    'of two calls in turns',
    [
      [fullCall(0, 'call_a', ''), fullCall(1, 'call_b', '')],
      [piece(0, '{"city"'), piece(1, '{"')],
      [piece(0, OSLO), piece(1, '{"city":"Ber')],
      [piece(1, BERGEN)],
    ],
    both,
  ],
  [
    'the whole once more, with the arguments alone',
    [[fullCall(0, 'call_a', '')], [piece(0, OSLO)], [piece(0, OSLO)]],
    one,
  ],
  ...[true, false].map((isNamed): (typeof ROWS)[number] => [
    `an empty object amid others, ${isNamed ? 'with id and name' : 'with the arguments alone'}`,
    ['{"a":', '[', '{}', ',', '{}', ']}'].map((text, i) => [
      isNamed || i === 0 ? fullCall(0, 'call_a', text) : piece(0, text),
    ]),
    [{ name: 'weather', input: { a: [{}, {}] }, id: 'call_a' }],
  ]),
  [
    'objects within objects that begin alike',
    [[fullCall(0, 'call_a', '{"a":')], [piece(0, '{"a":')], [piece(0, '{"a":')], [piece(0, '1}}}')]],
    [{ name: 'weather', input: NESTED, id: 'call_a' }],
  ],
]

wireTable(ROWS.map(([name, deltas, calls = []]) => ({ name, stream: callStream(deltas), want: { calls } })))
