// Goal: tool calls reach the clients of every format whole, each with its own name, arguments and id, however the provider
// numbers, names and splits them. One row a shape.
import { BERGEN, bergen, both, call, fullCall, OSLO, one, oslo } from '../support/wires/sampleCalls.ts'
import { callStream, chunk, ending, ROLE, streamOf, type Wire } from '../support/wires/wire.ts'
import { wireTable } from '../support/wires/wireTable.ts'

const STREAMS: Wire[] = [
  {
    name: 'no delta names the role, all with index 0',
    stream:
      chunk({ tool_calls: [fullCall(0, 'call_a', OSLO)] }).repeat(1) +
      chunk({ tool_calls: [fullCall(0, 'call_b', { city: 'Bergen' })] }) +
      ending('tool_calls'),
    want: { calls: both },
  },
  ...(
    [
      [
        'as documented',
        [
          [call({ index: 0, id: 'call_a', name: 'weather', arguments: '' })],
          [{ index: 0, function: { arguments: '{"city":' } }],
          [{ index: 0, function: { arguments: '"Oslo"}' } }],
        ],
        one,
      ],
      [
        'two, one after the other',
        [
          [fullCall(0, 'call_a', '')],
          [{ index: 0, function: { arguments: OSLO } }],
          [fullCall(1, 'call_b', '')],
          [{ index: 1, function: { arguments: BERGEN } }],
        ],
        both,
      ],
      [
        'two, in turns',
        [
          [fullCall(0, 'call_a', '')],
          [fullCall(1, 'call_b', '')],
          [
            { index: 1, function: { arguments: '{"city":' } },
            { index: 0, function: { arguments: '{"city":"Os' } },
          ],
          [{ index: 0, function: { arguments: 'lo"}' } }],
          [{ index: 1, function: { arguments: '"Bergen"}' } }],
        ],
        both,
      ],
      ['all with index 0, each with its id', [[fullCall(0, 'call_a', OSLO)], [fullCall(0, 'call_b', BERGEN)]], both],
      ['all with index 0, in one chunk', [[fullCall(0, 'call_a', OSLO), fullCall(0, 'call_b', BERGEN)]], both],
      [
        'all with index 0, in pieces',
        [
          [fullCall(0, 'call_a', '')],
          [{ index: 0, function: { arguments: OSLO } }],
          [fullCall(0, 'call_b', '')],
          [{ index: 0, function: { arguments: BERGEN } }],
        ],
        both,
      ],
      [
        'all with index 0, without ids',
        [[fullCall(0, undefined, OSLO)], [fullCall(0, undefined, BERGEN)]],
        [oslo, bergen],
      ],
      ['without an index', [[fullCall(undefined, 'call_a', OSLO)], [fullCall(undefined, 'call_b', BERGEN)]], both],
      [
        'without an index, in one chunk',
        [[fullCall(undefined, 'call_a', OSLO), fullCall(undefined, 'call_b', BERGEN)]],
        both,
      ],
      [
        'without an index, in pieces',
        [
          [fullCall(undefined, 'call_a', '')],
          [{ function: { arguments: OSLO } }],
          [fullCall(undefined, 'call_b', '')],
          [{ function: { arguments: BERGEN } }],
        ],
        both,
      ],
      ['with index null', [[fullCall(null, 'call_a', OSLO)], [fullCall(null, 'call_b', BERGEN)]], both],
      [
        'without an index and without ids',
        [[fullCall(undefined, undefined, OSLO)], [fullCall(undefined, undefined, BERGEN)]],
        [oslo, bergen],
      ],
      [
        'without an index and without ids, in one chunk',
        [[fullCall(undefined, undefined, OSLO), fullCall(undefined, undefined, BERGEN)]],
        [oslo, bergen],
      ],
      ['with empty ids', [[fullCall(0, '', OSLO)], [fullCall(1, '', BERGEN)]], [oslo, bergen]],
      [
        'with the same id for all',
        [[fullCall(0, 'call_a', OSLO)], [fullCall(1, 'call_a', BERGEN)]],
        [{ ...oslo, id: 'call_a' }, bergen],
      ],
      ['with indexes from 1', [[fullCall(1, 'call_a', OSLO)], [fullCall(2, 'call_b', BERGEN)]], both],
      ['with an index that is a text', [[fullCall('0', 'call_a', OSLO)], [fullCall('1', 'call_b', BERGEN)]], both],
      [
        'the name after the id',
        [
          [{ index: 0, id: 'call_a', type: 'function' }],
          [{ index: 0, function: { name: 'weather' } }],
          [{ index: 0, function: { arguments: OSLO } }],
        ],
        one,
      ],
      [
        'the name after the arguments',
        [[call({ index: 0, id: 'call_a', arguments: OSLO })], [{ index: 0, function: { name: 'weather' } }]],
        one,
      ],
      [
        'an empty name, then the name',
        [
          [call({ index: 0, id: 'call_a', name: '', arguments: '' })],
          [{ index: 0, function: { name: 'weather', arguments: '' } }],
          [{ index: 0, function: { arguments: OSLO } }],
        ],
        one,
      ],
      [
        'the id after the name',
        [
          [{ index: 0, type: 'function', function: { name: 'weather', arguments: '' } }],
          [{ index: 0, id: 'call_a' }],
          [{ index: 0, function: { arguments: OSLO } }],
        ],
        one,
      ],
      [
        'the id after the arguments',
        [[{ index: 0, function: { name: 'weather', arguments: OSLO } }], [{ index: 0, id: 'call_a' }]],
        one,
      ],
      [
        'the name in pieces',
        [
          [fullCall(0, 'call_a', '', 'wea')],
          [{ index: 0, function: { name: 'ther' } }],
          [{ index: 0, function: { arguments: OSLO } }],
        ],
        one,
      ],
      [
        'the name and the id in pieces',
        [
          [{ index: 0, id: 'call', type: 'function', function: {} }],
          [{ index: 0, id: '_a' }],
          [{ index: 0, function: { name: 'wea' } }],
          [{ index: 0, function: { name: 'ther', arguments: OSLO } }],
        ],
        one,
      ],
      [
        'name and id with every piece',
        [[fullCall(0, 'call_a', '{"city":')], [fullCall(0, 'call_a', '"Os')], [fullCall(0, 'call_a', 'lo"}')]],
        one,
      ],
      [
        'empty name and id with every piece',
        [[fullCall(0, 'call_a', '')], [fullCall(0, '', '{"city":', '')], [fullCall(0, '', '"Oslo"}', '')]],
        one,
      ],
      [
        'null for name and id with every piece',
        [[fullCall(0, 'call_a', '')], [{ index: 0, id: null, type: null, function: { name: null, arguments: OSLO } }]],
        one,
      ],
      [
        'the whole call again at the end',
        [
          [fullCall(0, 'call_a', '')],
          [{ index: 0, function: { arguments: '{"city":' } }],
          [{ index: 0, function: { arguments: '"Oslo"}' } }],
          [fullCall(0, 'call_a', OSLO)],
        ],
        one,
      ],
      ['arguments as an object', [[fullCall(0, 'call_a', { city: 'Oslo' })]], one],
      [
        'arguments as objects, without index and id',
        [[fullCall(undefined, undefined, { city: 'Oslo' })], [fullCall(undefined, undefined, { city: 'Bergen' })]],
        [oslo, bergen],
      ],
      [
        'an empty object, then the arguments',
        [[fullCall(0, 'call_a', {})], [{ index: 0, function: { arguments: OSLO } }]],
        one,
      ],
      [
        'an empty object as text, then the arguments',
        [
          [fullCall(0, 'call_a', '{}')],
          [{ index: 0, function: { arguments: '{"city":' } }],
          [{ index: 0, function: { arguments: '"Oslo"}' } }],
        ],
        one,
      ],
      ['empty arguments', [[fullCall(0, 'call_a', '')]], [{ name: 'weather', input: {}, id: 'call_a' }]],
      ['arguments of null', [[fullCall(0, 'call_a', null)]], [{ name: 'weather', input: {}, id: 'call_a' }]],
      [
        'no arguments',
        [[{ index: 0, id: 'call_a', type: 'function', function: { name: 'weather' } }]],
        [{ name: 'weather', input: {}, id: 'call_a' }],
      ],
      [
        'two without arguments',
        [[fullCall(0, 'call_a', '', 'now')], [fullCall(1, 'call_b', '', 'here')]],
        [
          { name: 'now', input: {}, id: 'call_a' },
          { name: 'here', input: {}, id: 'call_b' },
        ],
      ],
      [
        'empty objects, without index and id',
        [[fullCall(undefined, undefined, {}, 'now')], [fullCall(undefined, undefined, {}, 'here')]],
        [
          { name: 'now', input: {} },
          { name: 'here', input: {} },
        ],
      ],
      ['without a type', [[{ index: 0, id: 'call_a', function: { name: 'weather', arguments: OSLO } }]], one],
      ['name and arguments beside the id', [[{ index: 0, id: 'call_a', name: 'weather', arguments: OSLO }]], one],
      ['an empty entry before the call', [[{}], [fullCall(0, 'call_a', OSLO)]], one],
      [
        'a number as the id',
        [[{ index: 0, id: 7, type: 'function', function: { name: 'weather', arguments: OSLO } }]],
        [{ ...oslo, id: '7' }],
      ],
    ] as [string, unknown[][], Wire['want']['calls']][]
  ).map(([name, deltas, calls]): Wire => ({ name, stream: callStream(deltas), want: { calls: calls ?? [] } })),
  {
    name: 'text before the call',
    stream: streamOf([{ content: 'Look: ' }, { tool_calls: [fullCall(0, 'call_a', OSLO)] }], 'tool_calls'),
    want: { text: 'Look: ', calls: one },
  },
  {
    name: 'text and a call without an index in one delta',
    stream: streamOf([{ content: 'Look: ', tool_calls: [fullCall(undefined, 'call_a', OSLO)] }], 'tool_calls'),
    want: { text: 'Look: ', calls: one },
  },
  {
    name: 'text behind a call whose name is complete',
    stream: streamOf(
      [
        { tool_calls: [fullCall(0, 'call_a', '')] },
        { tool_calls: [{ index: 0, function: { arguments: OSLO } }] },
        { content: 'So.' },
      ],
      'tool_calls',
    ),
    want: { text: 'So.', calls: one },
  },
  {
    name: 'a function_call of older providers',
    stream: streamOf(
      [{ function_call: { name: 'weather', arguments: '' } }, { function_call: { arguments: OSLO } }],
      'function_call',
    ),
    want: { calls: [oslo] },
  },
  {
    name: 'a call on the chunk with the reason',
    stream:
      ROLE +
      chunk({ tool_calls: [fullCall(0, 'call_a', OSLO)] }, 'tool_calls') +
      ending(null).replace(chunk({}, null), ''),
    want: { calls: one },
  },
  {
    name: 'a call without a name',
    stream: callStream([[call({ index: 0, id: 'call_a', arguments: OSLO })]]),
    want: { status: 'refused' },
  },
  {
    name: 'a call without a name behind text',
    stream: streamOf(
      [{ content: 'Look: ' }, { tool_calls: [call({ index: 0, id: 'call_a', arguments: OSLO })] }],
      'tool_calls',
    ),
    want: { status: 'partial', tokens: 'estimated' },
  },
]

wireTable(STREAMS)
