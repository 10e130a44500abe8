// Marks of requests for the cache, at providers of the OpenAI dialect that take them and at others.
import { assistant, text, use, user } from './blockRows.ts'
import type { Row, Sent } from './validatorRows.ts'

const MARK = { cache_control: { type: 'ephemeral' } }
const HOUR = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const part = (words: string) => ({ type: 'text', text: words })
const said = { role: 'user', content: 'go on' }
const tool = { name: 'f', input_schema: { type: 'object', properties: {} } }
const sentTool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }
const member = (name: string) => (body: Sent) => body[name]
const turn = (place: number) => (body: Sent) => ((body['messages'] as Sent[])[place] as Sent)['content']
const SYSTEM = { system: [{ ...text('Be brief.'), ...HOUR }, text('And kind.')], messages: [said] }
const TOOLS = { tools: [{ ...tool, ...HOUR }], messages: [said] }
const called = (result: object) => ({
  messages: [said, assistant(use), user({ type: 'tool_result', tool_use_id: 't1', ...result })],
})
const RESULT = called({ content: 'rain', ...MARK })
const SAID = { messages: [said, assistant({ ...text('Well.'), ...MARK }), said] }
const LATER = { messages: [said, assistant(text('a')), said, { role: 'system', content: [{ ...text('b'), ...MARK }] }] }

const row = (title: string, to: string, body: object, sent: Row['sent'], expected: unknown): Row => ({
  title: `${title} at ${to}`,
  from: 'messages',
  to,
  body,
  sent,
  expected,
})

const native = { name: 'f', input_schema: { type: 'object', properties: {} } }
const custom = { type: 'custom', custom: { name: 'f' } }
const markOf = (body: Sent) => [(body['tools'] as Sent[])[0]?.['cache_control'], JSON.stringify(body).includes('1h')]

/** Tools of chats, whose packages have the mark in the tool or in its function. */
const CHAT_TOOLS: readonly (readonly [title: string, tool: object])[] = [
  ['a marked tool of a chat', { ...sentTool, ...HOUR }],
  ['a marked function of a chat', { ...sentTool, function: { ...sentTool.function, ...HOUR } }],
]
const ofChats = (title: string, to: string, marked: object, sent: Row['sent'], expected: unknown): Row => ({
  ...row(title, to, { tools: [marked], messages: [said] }, sent, expected),
  from: 'chat',
})

/** The table. */
export const MARK_ROWS: readonly Row[] = [
  ...CHAT_TOOLS.flatMap(([title, marked]) => [
    ofChats(title, 'openai', marked, member('tools'), [{ ...sentTool, ...MARK }]),
    ofChats(title, 'anthropic', marked, member('tools'), [{ ...native, ...MARK }]),
  ]),
  ofChats('a marked custom tool', 'openai', { ...custom, ...HOUR }, markOf, [MARK.cache_control, false]),
  ofChats('a mark of null', 'openai', { ...sentTool, cache_control: null }, member('tools'), [sentTool]),
  ofChats('a mark of another form', 'openai', { ...sentTool, cache_control: '1h' }, member('tools'), [sentTool]),
  row('marked instructions', 'marking', SYSTEM, turn(0), [{ ...part('Be brief.'), ...MARK }, part('And kind.')]),
  row('marked instructions', 'openai', SYSTEM, turn(0), 'Be brief.\n\nAnd kind.'),
  row(
    'instructions without a mark',
    'marking',
    { system: [text('a'), text('b')], messages: [said] },
    turn(0),
    'a\n\nb',
  ),
  row('later instructions', 'marking', LATER, turn(3), [{ ...part('b'), ...MARK }]),
  row('a marked tool', 'marking', TOOLS, member('tools'), [{ ...sentTool, ...MARK }]),
  row('a marked tool', 'openai', TOOLS, member('tools'), [sentTool]),
  row('a marked result', 'marking', RESULT, turn(2), [{ ...part('rain'), ...MARK }]),
  row('a marked result', 'openai', RESULT, turn(2), 'rain'),
  row('a result with a marked text', 'marking', called({ content: [text('a'), { ...text('b'), ...MARK }] }), turn(2), [
    { ...part('a\nb'), ...MARK },
  ]),
  row('a marked result without a text', 'marking', called({ content: '', ...MARK }), turn(2), ''),
  row('a marked answer', 'marking', SAID, turn(1), [{ ...part('Well.'), ...MARK }]),
  row('a marked answer', 'openai', SAID, turn(1), 'Well.'),
  row('a mark of the whole request', 'marking', { ...HOUR, messages: [said] }, member('cache_control'), {
    type: 'ephemeral',
  }),
  row('a mark of the whole request', 'openai', { ...HOUR, messages: [said] }, member('cache_control'), undefined),
]
