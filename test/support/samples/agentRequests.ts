// Requests as agents send them, with every kind of block, item and tool in their histories.
const PICTURE = 'https://example.com/a.png'
const PNG_DATA = 'iVBORw0KGgo='
/** An image that has nothing but its signature. */
export const PNG_URL = `data:image/png;base64,${PNG_DATA}`
const PARAMETERS = { type: 'object', properties: { a: { type: ['string', 'null'], anyOf: [{ const: 'x' }] } } }
const GRAMMAR = { type: 'grammar', grammar: { syntax: 'lark', definition: 'x' } }

/** A chat with blocks of Messages, calls of every form, and a choice among some of its tools. */
export const AGENT_CHAT = {
  model: 'test/chat',
  messages: [
    {
      role: 'user',
      content: [
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG_DATA } },
        { type: 'text', text: 'x' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 't', signature: 's' },
        { type: 'tool_use', id: 'x', name: 'a', input: { q: 1 } },
      ],
      reasoning: 'r',
      reasoning_details: [{ type: 'reasoning.text', text: 'x' }],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'x', content: [{ type: 'image', source: { type: 'url', url: PICTURE } }] },
      ],
    },
    { role: 'assistant', function_call: { name: 'a', arguments: '{}' } },
    { role: 'function', name: 'a', content: '1' },
    {
      role: 'assistant',
      tool_calls: [
        {
          id: 'y',
          type: 'custom',
          custom: { name: 'p', input: 'z' },
          extra_content: { google: { thought_signature: 's' } },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'y', name: 'p', content: [{ type: 'image_url', image_url: PICTURE }] },
    { role: 'user', content: 'go' },
  ],
  max_tokens: 5,
  tools: [
    { type: 'function', function: { name: 'a', parameters: PARAMETERS } },
    { type: 'custom', custom: { name: 'p', format: GRAMMAR } },
  ],
  tool_choice: {
    type: 'allowed_tools',
    allowed_tools: {
      mode: 'auto',
      tools: [
        { type: 'custom', custom: { name: 'p' } },
        { type: 'function', function: { name: 'a' } },
      ],
    },
  },
  prediction: { type: 'content', content: 'x' },
  extra_body: { enable_thinking: true },
  chat_template_kwargs: { enable_thinking: false },
  thinking: { type: 'enabled', budget_tokens: 1_024 },
  reasoning: { effort: 'low', max_tokens: 5 },
}

/** A chat in the forms of other formats: tools and their choice as in Messages. */
export const MIXED_CHAT = {
  model: 'test/chat',
  messages: [{ role: 'user', content: 'go' }],
  tools: [{ name: 'a', input_schema: PARAMETERS }],
  tool_choice: { type: 'tool', name: 'a' },
}

/** A chat in the form of Responses, as Cursor sends it. */
export const CURSOR_CHAT = {
  model: 'test/chat',
  instructions: 'i',
  input: [{ role: 'user', content: 'go' }],
  tools: [{ type: 'custom', name: 'apply' }],
}

/** A turn of Messages with hosted tools, documents and results of searches. */
export const AGENT_MESSAGES = {
  model: 'test/chat',
  max_tokens: 50,
  system: 's',
  messages: [
    {
      role: 'user',
      content: [
        { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'x' }] }, citations: {} },
        { type: 'search_result', source: 'a', title: 't', content: [{ type: 'text', text: 'q' }] },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'redacted_thinking', data: 'd' },
        { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
        {
          type: 'web_search_tool_result',
          tool_use_id: 's',
          content: [{ type: 'web_search_result', title: 't', url: 'u', encrypted_content: 'e' }],
        },
        { type: 'tool_use', id: 'u', name: 'g', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'u',
          is_error: true,
          content: [
            { type: 'tool_reference', tool_name: 'g' },
            { type: 'image', source: { type: 'url', url: PICTURE } },
          ],
        },
        { type: 'text', text: 'x', cache_control: { type: 'ephemeral' } },
      ],
    },
  ],
  tools: [
    { name: 'g', input_schema: { type: 'object' } },
    { type: 'web_search_20250305', name: 'web_search', max_uses: 1, allowed_domains: ['a'] },
    { type: 'bash_20250124', name: 'bash' },
  ],
  tool_choice: { type: 'any' },
  mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'm' }],
  context_management: { edits: [{ type: 'x' }] },
}

/** Every kind of item that a history of Responses has. */
export const AGENT_RESPONSES = {
  model: 'test/chat',
  input: [
    { type: 'custom_tool_call', call_id: 'a', name: 'p', input: 'x' },
    { type: 'custom_tool_call_output', call_id: 'a', output: 'o' },
    { type: 'local_shell_call', call_id: 'l', action: { type: 'exec', command: ['ls'], env: {} } },
    { type: 'local_shell_call_output', call_id: 'l', output: 'o' },
    { type: 'shell_call', call_id: 's', action: { commands: ['ls'] } },
    {
      type: 'shell_call_output',
      call_id: 's',
      output: [{ stdout: 'a', stderr: 'b', outcome: { type: 'exit', exit_code: 0 } }],
    },
    { type: 'web_search_call', id: 'w', action: { type: 'search', query: 'q' } },
    { type: 'apply_patch_call', call_id: 'd', operation: { type: 'update_file', path: 'p', diff: 'd' } },
    { type: 'apply_patch_call_output', call_id: 'd', status: 'completed', output: 'x' },
    { type: 'compaction', encrypted_content: 'e' },
    { type: 'mcp_call', id: 'm', name: 'n', arguments: '{}', output: 'o', server_label: 's' },
    { type: 'image_generation_call', id: 'g', result: PNG_DATA },
    { type: 'tool_search_call', call_id: 't', arguments: { q: 1 } },
    { type: 'tool_search_output', call_id: 't', tools: [{ type: 'function', name: 'f' }] },
    { type: 'additional_tools', tools: [{ type: 'function', name: 'h', parameters: {} }] },
    { type: 'file_search_call', id: 'f', queries: ['a'], results: [{ text: 't' }] },
    { type: 'code_interpreter_call', id: 'i', code: 'c', outputs: [{ type: 'logs', logs: 'l' }] },
    { type: 'computer_call', call_id: 'c', action: { type: 'click', x: 1 } },
    { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', image_url: PNG_URL } },
    { type: 'reasoning', content: [{ type: 'reasoning_text', text: 't' }], encrypted_content: 'e', summary: [] },
    { role: 'user', content: [{ type: 'input_image', image_url: { url: PICTURE } }] },
  ],
  tools: [
    { type: 'custom', name: 'p', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
    { type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'f' }] },
    { type: 'web_search', filters: { allowed_domains: ['a'] } },
    { type: 'local_shell' },
  ],
  tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'custom', name: 'p' }] },
  background: false,
  context_management: [{ type: 'compaction' }],
  prompt_cache_key: 'k',
  safety_identifier: 's',
  service_tier: 'auto',
}
