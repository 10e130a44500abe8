import { called, fn, type HISTORIES, result } from './itemRows.ts'

/** Calls, and outputs of calls, that are not as the format has them, in the form of `HISTORIES`. */
export const CALL_ITEMS: typeof HISTORIES = [
  ...['null', '[]'].map(
    (none) =>
      [
        `a call without arguments: ${none}`,
        [
          { type: 'function_call', call_id: 'c1', name: 'f', arguments: none },
          { type: 'function_call_output', call_id: 'c1', output: 'x' },
        ],
        [called('f', '{}'), result('x')],
      ] as const,
  ),
  [
    'a search that has found tools in a group',
    [
      { type: 'tool_search_call', call_id: 'c1', execution: 'client', arguments: { query: 'mail' } },
      {
        type: 'tool_search_output',
        call_id: 'c1',
        tools: [{ type: 'namespace', name: 'mcp__mail', tools: [fn('send'), fn('list.all')] }, { type: 'web_search' }],
      },
    ],
    [
      called('tool_search', '{"query":"mail"}'),
      result('Tools that can be called now: mcp__mail__send, mcp__mail__list_all_1529401f'),
    ],
  ],
  [
    'an output of several texts',
    [
      { type: 'custom_tool_call', call_id: 'c1', name: 'exec', input: 'x' },
      {
        type: 'custom_tool_call_output',
        call_id: 'c1',
        output: [
          { type: 'input_text', text: 'a' },
          { type: 'input_text', text: 'b' },
        ],
      },
    ],
    [called('exec', '{"input":"x"}'), result('a\nb')],
  ],
  [
    'outputs of calls of another thread, which have no id',
    [
      { type: 'function_call_output', id: 'o', namespace: 'codex_app', name: 'create_thread', output: 'do it' },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: null, name: 'send_message_to_thread', output: 'hurry' },
      { type: 'function_call_output', call_id: 'c1', output: 'x' },
    ],
    [{ role: 'user', content: 'do it' }, called('f', '{}'), result('x'), { role: 'user', content: 'hurry' }],
  ],
  ...[{}, { call_id: '' }].map(
    (id) =>
      [
        `an output without an id: ${JSON.stringify(id)}`,
        [
          { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
          { type: 'function_call_output', ...id, output: 'x' },
          { type: 'function_call_output', ...id, output: 'y' },
        ],
        [called('f', '{}'), result('x'), { role: 'user', content: 'y' }],
      ] as const,
  ),
]
