/** The user's newest message. */
export const HELLO = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go on' }] }
const said = (text: string) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })
/** A call as the provider gets it. */
export const called = (name: string, text: string, id = 'c1') => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name, arguments: text } }],
})
/** Its result. */
export const result = (content: string, id = 'c1') => ({ role: 'tool', tool_call_id: id, content })
const packed = (type: string, text: string) => ({
  type,
  id: 'cmp_1',
  encrypted_content: `slu1.${Buffer.from(JSON.stringify({ type: 'summary', text })).toString('base64url')}`,
})
const toldSummary = (text: string) => ({
  role: 'user',
  content: `The conversation so far was summed up as follows; go on from there.\n\n${text}`,
})
/** The same as the provider gets it. */
export const GO_ON = { role: 'user', content: 'go on' }
/** A function of this name. */
export const fn = (name: string) => ({ type: 'function', name, parameters: { type: 'object', properties: {} } })

/** The items before the user's message, and the messages that the provider gets before that one. */
export const HISTORIES: readonly (readonly [title: string, items: readonly object[], messages: readonly object[]])[] = [
  ['a message', [said('hi')], [{ role: 'assistant', content: 'hi' }]],
  [
    'a message of another agent',
    [{ type: 'agent_message', author: 'a', content: [{ type: 'input_text', text: 'done' }] }],
    [{ role: 'user', content: 'done' }],
  ],
  ...[[[{ id: 1 }, 'b'], '[{"id":1},"b"]'] as const, [5, '5'] as const, [[], ''] as const].map(
    ([output, text]) =>
      [
        `an output that is no text: ${JSON.stringify(output)}`,
        [
          { type: 'function_call', call_id: 'c1', name: 'f', arguments: '' },
          { type: 'function_call_output', call_id: 'c1', output },
        ],
        [called('f', '{}'), result(text)],
      ] as const,
  ),
  [
    'a function call with its output',
    [
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'x' },
    ],
    [called('f', '{}'), result('x')],
  ],
  [
    'a call of a tool in a namespace',
    [
      { type: 'function_call', call_id: 'c1', namespace: 'agents', name: 'spawn', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'x' },
    ],
    [called('agents__spawn', '{}'), result('x')],
  ],
  [
    'a custom tool call with its output',
    [
      { type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: '*** Begin "Patch"' },
      { type: 'custom_tool_call_output', call_id: 'c1', output: 'Done!' },
    ],
    [called('apply_patch', '{"input":"*** Begin \\"Patch\\""}'), result('Done!')],
  ],
  [
    'a custom tool call whose output has parts',
    [
      { type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: 'p' },
      { type: 'custom_tool_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'a' }] },
    ],
    [called('apply_patch', '{"input":"p"}'), result('a')],
  ],
  [
    'a local shell call',
    [
      {
        type: 'local_shell_call',
        id: 'l',
        call_id: 'c1',
        status: 'completed',
        action: { type: 'exec', command: ['ls'] },
      },
      { type: 'local_shell_call_output', call_id: 'c1', output: 'a.txt' },
    ],
    [called('local_shell', '{"type":"exec","command":["ls"]}'), result('a.txt')],
  ],
  [
    'a local shell call that has an id alone, answered as a function',
    [
      { type: 'local_shell_call', id: 'c1', action: { type: 'exec', command: ['ls'] } },
      { type: 'function_call_output', call_id: 'c1', output: 'a.txt' },
    ],
    [called('local_shell', '{"type":"exec","command":["ls"]}'), result('a.txt')],
  ],
  [
    'a shell call with two commands',
    [
      { type: 'shell_call', call_id: 'c1', action: { commands: ['ls', 'no'] } },
      {
        type: 'shell_call_output',
        call_id: 'c1',
        output: [
          { stdout: 'a.txt', stderr: '', outcome: { type: 'exit', exit_code: 0 } },
          { stdout: '', stderr: 'not found', outcome: { type: 'exit', exit_code: 127 } },
        ],
      },
    ],
    [called('shell', '{"commands":["ls","no"]}'), result('a.txt\nexit code 0\nnot found\nexit code 127')],
  ],
  [
    'a patch',
    [
      { type: 'apply_patch_call', call_id: 'c1', operation: { type: 'delete_file', path: 'a' } },
      { type: 'apply_patch_call_output', call_id: 'c1', status: 'completed' },
    ],
    [called('apply_patch', '{"type":"delete_file","path":"a"}'), result('completed')],
  ],
  [
    'a search for tools that the client ran',
    [
      { type: 'tool_search_call', call_id: 'c1', execution: 'client', arguments: { query: 'mail' } },
      { type: 'tool_search_output', call_id: 'c1', execution: 'client', tools: [fn('send_mail')] },
    ],
    [called('tool_search', '{"query":"mail"}'), result('Tools that can be called now: send_mail')],
  ],
  [
    'a search for tools that the server ran',
    [
      { type: 'tool_search_call', call_id: null, id: 't1', execution: 'server', arguments: { paths: ['x'] } },
      { type: 'tool_search_output', call_id: null, id: 't2', execution: 'server', tools: [fn('send_mail')] },
    ],
    [],
  ],
  ['reasoning', [{ type: 'reasoning', id: 'r', summary: [], encrypted_content: 'x' }], []],
  ['a summary in the form of its provider', [{ type: 'compaction', id: 'c', encrypted_content: 'x' }], []],
  ['the same under its older name', [{ type: 'compaction_summary', encrypted_content: 'x' }], []],
  ['a summary of the context', [{ type: 'context_compaction', encrypted_content: 'x' }], []],
  ['a summary in a form that cannot be read', [{ type: 'compaction', encrypted_content: 'slu1.e30' }], []],
  ['a summary that this gateway has packed', [packed('compaction', 'We did much.')], [toldSummary('We did much.')]],
  [
    'the same under its older name, between messages',
    [said('hi'), packed('compaction_summary', 'We did much.'), said('on')],
    [{ role: 'assistant', content: 'hi' }, toldSummary('We did much.'), { role: 'assistant', content: 'on' }],
  ],
  [
    'a packed summary of the context',
    [packed('context_compaction', 'x'.repeat(50_000))],
    [toldSummary('x'.repeat(50_000))],
  ],
  ['a search of the web', [{ type: 'web_search_call', id: 'w', status: 'completed', action: { type: 'search' } }], []],
  ['a search in files', [{ type: 'file_search_call', id: 'f', status: 'completed', queries: [] }], []],
  ['code that was run', [{ type: 'code_interpreter_call', id: 'ci', code: '1', container_id: 'c' }], []],
  ['an image that was made', [{ type: 'image_generation_call', id: 'ig', result: 'AAAA' }], []],
  ['a list of tools', [{ type: 'mcp_list_tools', id: 'm', server_label: 's', tools: [] }], []],
  [
    'a call of a server',
    [{ type: 'mcp_call', id: 'm', server_label: 's', name: 'n', arguments: '{}', output: 'x' }],
    [],
  ],
  [
    'a question and its answer',
    [
      { type: 'mcp_approval_request', id: 'q', name: 'n', arguments: '{}', server_label: 's' },
      { type: 'mcp_approval_response', approval_request_id: 'q', approve: true },
    ],
    [],
  ],
  [
    'an action on a screen with its output',
    [
      { type: 'computer_call', call_id: 'c1', action: { type: 'click' } },
      { type: 'computer_call_output', call_id: 'c1', output: { type: 'computer_screenshot' } },
    ],
    [],
  ],
  [
    'an unknown call, and its output of a known kind',
    [
      { type: 'future_call', call_id: 'c1', what: 1 },
      { type: 'function_call_output', call_id: 'c1', output: 'x' },
    ],
    [],
  ],
  ['an unknown item', [{ type: 'future_item', id: 'u', text: 'x' }], []],
  ['a configuration update', [{ type: 'configuration_update', model: 'x' }], []],
  [
    'a PDF of an older turn',
    [
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'read' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
        ],
      },
    ],
    [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'read' },
          { type: 'text', text: '[input_file left out]' },
        ],
      },
    ],
  ],
  [
    'a text file',
    [
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;charset=utf-8;base64,aMOpbGxv' },
        ],
      },
    ],
    [{ role: 'user', content: 'héllo' }],
  ],
  [
    'an output with a file',
    [
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_file', file_id: 'f1' }] },
    ],
    [called('f', '{}'), result('[input_file left out]')],
  ],
  [
    'a message between a call and its output',
    [
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'message', role: 'user', content: 'wait' },
      { type: 'function_call_output', call_id: 'c1', output: 'x' },
    ],
    [called('f', '{}'), result('x'), { role: 'user', content: 'wait' }],
  ],
  [
    'two calls whose outputs come in the other order',
    [
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call', call_id: 'c2', name: 'g', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c2', output: 'y' },
      { type: 'function_call_output', call_id: 'c1', output: 'x' },
    ],
    [
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } },
          { id: 'c2', type: 'function', function: { name: 'g', arguments: '{}' } },
        ],
      },
      result('y', 'c2'),
      result('x'),
    ],
  ],
]

/** Items that are refused, and the field that the refusal names. */
export const REFUSED: readonly (readonly [title: string, items: readonly object[], param: string])[] = [
  ['a reference', [{ type: 'item_reference', id: 'x' }, HELLO], 'input[0]'],
  ['a reference without a type', [{ id: 'x' }, HELLO], 'input[0]'],
  ['a request for a summary before the end', [{ type: 'compaction_trigger' }, HELLO], 'input[0]'],
  ['two requests for a summary', [HELLO, { type: 'compaction_trigger' }, { type: 'compaction_trigger' }], 'input[1]'],
  ['an item without a type', [{ text: 'x' }, HELLO], 'input[0].type'],
  [
    'a PDF of the newest message',
    [{ role: 'user', content: [{ type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0=' }] }],
    'input[0].content[0].type',
  ],
  ['nothing but items that are left out', [{ type: 'reasoning', summary: [] }], 'input'],
  [
    'a function call without a name',
    [{ type: 'function_call', call_id: 'c', arguments: '{}' }, HELLO],
    'input[0].name',
  ],
]
