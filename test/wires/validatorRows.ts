import { assistant, text, use, user } from './blockRows.ts'

/** The body of a provider's request. */
export type Sent = Record<string, unknown>

/** A request, and what becomes of a part of it. */
export interface Row {
  readonly title: string
  readonly from: 'chat' | 'messages' | 'responses'
  /** The model; openai and anthropic are those of the dialects. */
  readonly to: string
  readonly body: object
  /** Of the body that the provider gets. */
  readonly sent: (body: Sent) => unknown
  readonly expected: unknown
}

const said = { role: 'user', content: 'go on' }
const messagesOf = ({ messages }: Sent) => messages as Sent[]
const PNG = 'iVBORw0KGgoAAAANSUhEUgAA'
const url = `data:image/png;base64,${PNG}`
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }
const MARK = { cache_control: { type: 'ephemeral' } }
const marked = (words: string) => ({ ...text(words), ...MARK })
const result = (members: object) => ({ type: 'tool_result', tool_use_id: 't1', ...members })
const resultOf = (body: Sent) => ((messagesOf(body).at(-1) as Sent)['content'] as Sent[])[0]
const called = (name: unknown) => ({
  messages: [
    said,
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name, arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'x' },
  ],
})
const nameSent = (body: Sent) => {
  const [call] = messagesOf(body).flatMap(({ tool_calls: calls }) => (calls ?? []) as { function: { name: string } }[])
  return /^[\w-]{1,64}$/.test(call?.function.name ?? '')
}
const marksIn = (body: Sent) => JSON.stringify(body).split('"cache_control"').length - 1
const thinks = ({ thinking, output_config: config }: Sent) => [thinking, config]

/** The table. */
export const ROWS: readonly Row[] = [
  {
    title: 'adaptive thinking for a model with a budget',
    from: 'messages',
    to: 'budget',
    body: { messages: [said], max_tokens: 4_000, thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    sent: thinks,
    expected: [{ type: 'enabled', budget_tokens: 3_200 }, undefined],
  },
  {
    title: 'adaptive thinking amid calls, for a model with a budget that has not thought',
    from: 'messages',
    to: 'budget',
    body: {
      messages: [said, assistant(use), user(result({ content: 'x' }))],
      max_tokens: 4_000,
      thinking: { type: 'adaptive' },
    },
    sent: thinks,
    expected: [undefined, undefined],
  },
  {
    title: 'a budget for a model with an effort',
    from: 'messages',
    to: 'effort',
    body: { messages: [said], max_tokens: 4_000, thinking: { type: 'enabled', budget_tokens: 2_000 } },
    sent: thinks,
    expected: [{ type: 'adaptive', display: 'summarized' }, { effort: 'medium' }],
  },
  {
    title: 'a failed result of nothing',
    from: 'messages',
    to: 'anthropic',
    body: { messages: [said, assistant(use), user(result({ content: '', is_error: true }))] },
    sent: resultOf,
    expected: result({ content: 'error', is_error: true }),
  },
  {
    title: 'a failed result of white space',
    from: 'messages',
    to: 'anthropic',
    body: { messages: [said, assistant(use), user(result({ content: [text('\n')], is_error: true }))] },
    sent: resultOf,
    expected: result({ content: 'error', is_error: true }),
  },
  {
    title: 'a failed result with an image',
    from: 'messages',
    to: 'anthropic',
    body: { messages: [said, assistant(use), user(result({ content: [image], is_error: true }))] },
    sent: resultOf,
    expected: result({ content: [text('error'), image] }),
  },
  ...['repo_browser.print_tree', '', 'a b', 'functions.f<|channel|>x', null].map(
    (name): Row => ({
      title: `the tool ${JSON.stringify(name)}, which a model has made up`,
      from: 'chat',
      to: 'openai',
      body: called(name),
      sent: nameSent,
      expected: true,
    }),
  ),
  {
    title: 'the dotted name of a tool of the request',
    from: 'chat',
    to: 'openai',
    body: {
      ...called('a.b'),
      tools: [{ type: 'function', function: { name: 'a.b', parameters: { type: 'object' } } }],
    },
    sent: (body) => JSON.stringify(body).split('"a.b"').length - 1,
    expected: 2,
  },
  ...(['messages', 'chat'] as const).map(
    (from): Row => ({
      title: `six marks of a client of ${from}`,
      from,
      to: 'anthropic',
      body: { messages: ['a', 'b', 'c', 'd', 'e', 'f'].map((words) => user(marked(words))) },
      sent: (body) => [marksIn(body), JSON.stringify(body).includes('{"type":"text","text":"f","cache_control"')],
      expected: [4, true],
    }),
  ),
  {
    title: 'four marks and one of the body',
    from: 'messages',
    to: 'anthropic',
    body: { ...MARK, messages: ['a', 'b', 'c', 'd'].map((words) => user(marked(words))) },
    sent: marksIn,
    expected: 4,
  },
  {
    title: 'four marks',
    from: 'messages',
    to: 'anthropic',
    body: { system: [marked('s')], messages: ['a', 'b', 'c'].map((words) => user(marked(words))) },
    sent: marksIn,
    expected: 4,
  },
  {
    title: 'a mark on thinking',
    from: 'messages',
    to: 'anthropic',
    body: {
      messages: [said, assistant({ type: 'thinking', thinking: 'a', signature: 's', ...MARK }, text('b')), said],
    },
    sent: marksIn,
    expected: 0,
  },
  {
    title: 'a mark for a provider that takes none',
    from: 'messages',
    to: 'markless',
    body: { messages: [user(marked('hi'))] },
    sent: ({ messages }) => messages,
    expected: [{ role: 'user', content: 'hi' }],
  },
  {
    title: 'an image of the assistant, after one of the user',
    from: 'chat',
    to: 'openai',
    body: {
      messages: [
        { role: 'user', content: [text('draw'), { type: 'image_url', image_url: { url } }] },
        { role: 'assistant', content: [text('here'), { type: 'image_url', image_url: { url } }] },
        said,
      ],
    },
    sent: (body) =>
      messagesOf(body).map(({ content }) => (Array.isArray(content) ? content.map(({ type }) => type) : 1)),
    expected: [['text', 'image_url'], ['text', 'text'], 1],
  },
  {
    title: 'a list as the input of a call',
    from: 'messages',
    to: 'anthropic',
    body: { messages: [said, assistant({ ...use, input: [] }), user(result({ content: 'x' }))] },
    sent: (body) => ((messagesOf(body)[1] as Sent)['content'] as Sent[])[0]?.['input'],
    expected: {},
  },
  {
    title: 'a task of an agent for another, that is not encrypted',
    from: 'responses',
    to: 'openai',
    body: {
      input: [
        {
          type: 'agent_message',
          author: '/root',
          recipient: '/root/a',
          content: [
            { type: 'input_text', text: 'Task: ' },
            { type: 'encrypted_content', encrypted_content: 'Count the files.' },
            { type: 'encrypted_content', encrypted_content: 'gAAAAABsecret' },
          ],
        },
      ],
    },
    sent: (body) => messagesOf(body)[0]?.['content'],
    expected: [text('Task: '), text('Count the files.'), text('[encrypted_content left out]')],
  },
  {
    title: 'texts among the parts, and an old turn of nothing',
    from: 'chat',
    to: 'openai',
    body: { messages: [{ role: 'user', content: ['a'] }, { role: 'user', content: null }, said] },
    sent: (body) => messagesOf(body).map(({ content }) => content),
    expected: [[text('a')], '', 'go on'],
  },
]
