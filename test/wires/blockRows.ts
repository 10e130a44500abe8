/** The user's newest message. */
export const HELLO = { role: 'user', content: 'go on' }
const PDF = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } }
/** A text block. */
export const text = (said: string) => ({ type: 'text', text: said })
/** A message of the user. */
export const user = (...content: object[]) => ({ role: 'user', content })
/** A message of the assistant. */
export const assistant = (...content: object[]) => ({ role: 'assistant', content })
/** A tool call. */
export const use = { type: 'tool_use', id: 't1', name: 'f', input: { a: 1 } }
const chatUse = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 't1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
}
/** The message with its result. */
export const result = (content?: unknown) =>
  user({ type: 'tool_result', tool_use_id: 't1', ...(content !== undefined && { content }) })
const chatResult = (content: string) => ({ role: 'tool', tool_call_id: 't1', content })
const note = (kind: string) => text(`[${kind} left out]`)
const skipped = (type: string) => ({ type, id: 's1', tool_use_id: 's1', name: 'n', input: {}, content: [] })

interface Row {
  readonly title: string
  readonly history: readonly object[]
  /** What providers of each dialect get before the newest message. */
  readonly openai: readonly object[]
  readonly anthropic: readonly object[]
}

/** Histories, and what becomes of them. */
export const ROWS: readonly Row[] = [
  {
    title: 'a text',
    history: [user(text('a')), assistant(text('b'))],
    openai: [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
    ],
    anthropic: [user(text('a')), assistant(text('b'))],
  },
  {
    title: 'a tool call whose result names a tool',
    history: [assistant(use), result([{ type: 'tool_reference', tool_name: 'WebFetch' }])],
    openai: [chatUse, chatResult('Tool that can be called now: WebFetch')],
    anthropic: [assistant(use), result([text('Tool that can be called now: WebFetch')])],
  },
  {
    title: 'a result with a PDF',
    history: [assistant(use), result([text('read'), PDF])],
    openai: [chatUse, chatResult('read\n[document left out]')],
    anthropic: [assistant(use), result([text('read'), note('document')])],
  },
  {
    title: 'a result with a search result',
    history: [assistant(use), result([{ type: 'search_result', title: 'T', source: 'S', content: [text('C')] }])],
    openai: [chatUse, chatResult('T\nS\nC')],
    anthropic: [assistant(use), result([text('T\nS\nC')])],
  },
  {
    title: 'a result with an unknown block',
    history: [assistant(use), result([{ type: 'video', data: 'x' }])],
    openai: [chatUse, chatResult('[video left out]')],
    anthropic: [assistant(use), result([note('video')])],
  },
  {
    title: 'a result that is a list of no blocks',
    history: [assistant(use), result([{ id: 1 }, 'b'])],
    openai: [chatUse, chatResult('[{"id":1},"b"]')],
    anthropic: [assistant(use), result('[{"id":1},"b"]')],
  },
  {
    title: 'texts that are left out of their blocks',
    history: [assistant({ type: 'text' }, use), result([{ type: 'text', text: null }, text('x')])],
    openai: [chatUse, chatResult('x')],
    anthropic: [assistant(use), result([text('x')])],
  },
  {
    title: 'a result without content',
    history: [assistant(use), result()],
    openai: [chatUse, chatResult('')],
    anthropic: [assistant(use), result()],
  },
  {
    title: 'an id that another model has given',
    history: [
      assistant({ ...use, id: 'functions.f:0' }),
      user({ type: 'tool_result', tool_use_id: 'functions.f:0', content: 'x' }),
    ],
    openai: [
      { ...chatUse, tool_calls: [{ ...chatUse.tool_calls[0], id: 'functions_f_0' }] },
      { role: 'tool', tool_call_id: 'functions_f_0', content: 'x' },
    ],
    anthropic: [
      assistant({ ...use, id: 'functions_f_0' }),
      user({ type: 'tool_result', tool_use_id: 'functions_f_0', content: 'x' }),
    ],
  },
  {
    title: 'a PDF of an older turn',
    history: [user(text('read'), PDF), assistant(text('no'))],
    openai: [
      { role: 'user', content: [text('read'), note('document')] },
      { role: 'assistant', content: 'no' },
    ],
    anthropic: [user(text('read'), note('document')), assistant(text('no'))],
  },
  {
    title: 'a document of another address, of an older turn',
    history: [user(text('read'), { type: 'document', source: { type: 'url', url: 'https://a.example/a.pdf' } })],
    openai: [{ role: 'user', content: [text('read'), note('document')] }],
    anthropic: [user(text('read'), note('document'))],
  },
  {
    title: 'a text document in base64',
    history: [user({ type: 'document', source: { type: 'base64', media_type: 'text/plain', data: 'aMOpbGxv' } })],
    openai: [{ role: 'user', content: 'héllo' }],
    anthropic: [user({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'héllo' } })],
  },
  {
    title: 'a document of blocks',
    history: [user({ type: 'document', title: 'T', source: { type: 'content', content: [text('a'), text('b')] } })],
    openai: [{ role: 'user', content: 'T\na\nb' }],
    anthropic: [
      user({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a\nb' }, title: 'T' }),
    ],
  },
  {
    title: 'an image that is stored elsewhere, of an older turn',
    history: [user(text('see'), { type: 'image', source: { type: 'file', file_id: 'f' } })],
    openai: [{ role: 'user', content: [text('see'), note('image')] }],
    anthropic: [user(text('see'), note('image'))],
  },
  {
    title: 'a search result of the user',
    history: [user({ type: 'search_result', title: 'T', source: 'S', content: [text('C')] })],
    openai: [{ role: 'user', content: 'T\nS\nC' }],
    anthropic: [user(text('T\nS\nC'))],
  },
  {
    title: 'a summary',
    history: [assistant({ type: 'compaction', content: 'We did much.' })],
    openai: [{ role: 'assistant', content: 'We did much.' }],
    anthropic: [assistant(text('We did much.'))],
  },
  {
    title: 'texts of connectors and of the system',
    history: [
      user({ type: 'connector_text', text: 'c' }),
      { role: 'system', content: [{ type: 'mid_conv_system', text: 's' }] },
    ],
    openai: [
      { role: 'user', content: 'c' },
      { role: 'system', content: 's' },
    ],
    anthropic: [user(text('c')), user(text('s'))],
  },
  {
    title: 'a block of the assistant that is not known',
    history: [assistant(text('a'), { type: 'future', what: 1 })],
    openai: [{ role: 'assistant', content: 'a' }],
    anthropic: [assistant(text('a'))],
  },
  {
    title: 'a block of the user that is not known, in an older turn',
    history: [user(text('a'), { type: 'future', what: 1 })],
    openai: [{ role: 'user', content: [text('a'), note('future')] }],
    anthropic: [user(text('a'), note('future'))],
  },
  {
    title: 'an upload to a container, alone in its message',
    history: [user({ type: 'container_upload', file_id: 'f' })],
    openai: [{ role: 'user', content: note('container_upload').text }],
    anthropic: [user(note('container_upload'))],
  },
  {
    title: 'thinking of another model, redacted thinking and a note of the server',
    history: [assistant({ type: 'thinking', thinking: 'h', signature: '' }, { type: 'fallback' }, text('a'))],
    openai: [{ role: 'assistant', content: 'a' }],
    anthropic: [assistant(text('a'))],
  },
  {
    title: 'a signature without its thinking, which was not shown',
    history: [assistant({ type: 'thinking', signature: 's' }, use), result('x')],
    openai: [chatUse, chatResult('x')],
    anthropic: [assistant({ type: 'thinking', thinking: '', signature: 's' }, use), result('x')],
  },
  {
    title: 'thinking with a signature',
    history: [
      assistant({ type: 'thinking', thinking: 'h', signature: 's' }, { type: 'redacted_thinking', data: 'r' }, use),
      result('x'),
    ],
    openai: [chatUse, chatResult('x')],
    anthropic: [
      assistant({ type: 'thinking', thinking: 'h', signature: 's' }, { type: 'redacted_thinking', data: 'r' }, use),
      result('x'),
    ],
  },
  ...[
    ['server_tool_use', 'web_search_tool_result'],
    ['server_tool_use', 'web_fetch_tool_result'],
    ['server_tool_use', 'advisor_tool_result'],
    ['server_tool_use', 'code_execution_tool_result'],
    ['server_tool_use', 'bash_code_execution_tool_result'],
    ['server_tool_use', 'text_editor_code_execution_tool_result'],
    ['server_tool_use', 'tool_search_tool_result'],
    ['mcp_tool_use', 'mcp_tool_result'],
  ].map((kinds) => ({
    title: kinds.join(' and '),
    history: [assistant(...kinds.map(skipped), text('found'))],
    openai: [{ role: 'assistant', content: 'found' }],
    anthropic: [assistant(text('found'))],
  })),
]

/** Newest messages that are refused, and the field that the refusal names. */
export const REFUSED: readonly (readonly [title: string, message: object, param: string])[] = [
  ['a PDF', user(PDF), 'messages[0].content[0].source.type'],
  ['an unknown block', user({ type: 'video' }), 'messages[0].content[0].type'],
  [
    'an upload to a container',
    user(text('a'), { type: 'container_upload', file_id: 'f' }),
    'messages[0].content[1].type',
  ],
  [
    'an image that is stored elsewhere',
    user({ type: 'image', source: { type: 'file', file_id: 'f' } }),
    'messages[0].content[0].source.type',
  ],
]
