// Goal: the items of a streamed response come one after the other, as OpenAI's own do, however the provider's calls are interleaved
// with each other, with text and with reasoning: agents keep one current item, and ran tools with the arguments of another.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { post } from '../support/clients/responsesClient.ts'
import { ScriptedProvider } from '../support/providers/scriptedProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { chunk, ending, ROLE } from '../support/wires/wire.ts'

/** What the provider writes next: words, or a call or a piece of its arguments by the call's number. */
type Step =
  | { readonly text: string }
  | { readonly thought: string }
  | { readonly call: number; readonly name?: string }
  | { readonly of: number; readonly piece: string }

const call = (number: number, name = 'weather'): Step => ({ call: number, name })
const piece = (of: number, text: string): Step => ({ of, piece: text })
const whole = (number: number, city: string): Step[] => [
  call(number),
  piece(number, '{"city":'),
  piece(number, `"${city}"}`),
]
const patch = (number: number): Step[] => [
  call(number, 'apply_patch'),
  piece(number, '{"input":'),
  piece(number, '"*** {\\"a\\"}"}'),
]
const got = (city: string, name = 'weather') => `${name} {"city":"${city}"}`
const PATCHED = 'apply_patch *** {"a"}'

const ROWS: readonly (readonly [name: string, steps: readonly Step[], items: readonly string[]])[] = [
  ['two calls in turn', [...whole(0, 'Oslo'), ...whole(1, 'Bergen')], [got('Oslo'), got('Bergen')]],
  [
    'two interleaved calls',
    [call(0), call(1), piece(0, '{"city":'), piece(1, '{"city":'), piece(0, '"Oslo"}'), piece(1, '"Bergen"}')],
    [got('Oslo'), got('Bergen')],
  ],
  [
    'two calls of which the second is written first',
    [call(0), call(1), piece(1, '{"city":"Bergen"}'), piece(0, '{"city":"Oslo"}')],
    [got('Oslo'), got('Bergen')],
  ],
  [
    'three calls, of which the first ends last',
    [call(0), piece(0, '{"city":'), ...whole(1, 'Bergen'), ...whole(2, 'Bodø'), piece(0, '"Oslo"}')],
    [got('Oslo'), got('Bergen'), got('Bodø')],
  ],
  [
    'three calls, the last two interleaved',
    [...whole(0, 'Oslo'), call(1), call(2), piece(2, '{"city":'), piece(1, '{"city":"Bergen"}'), piece(2, '"Bodø"}')],
    [got('Oslo'), got('Bergen'), got('Bodø')],
  ],
  [
    'text between calls',
    [{ text: 'First.' }, ...whole(0, 'Oslo'), { text: 'Then.' }, ...whole(1, 'Bergen'), { text: 'Done.' }],
    ['First.', got('Oslo'), 'Then.', got('Bergen'), 'Done.'],
  ],
  [
    'reasoning between calls',
    [{ thought: 'hm' }, ...whole(0, 'Oslo'), { thought: 'so' }, ...whole(1, 'Bergen')],
    ['(hm)', got('Oslo'), '(so)', got('Bergen')],
  ],
  [
    'text and reasoning amid interleaved calls',
    [
      call(0),
      piece(0, '{"city":'),
      { text: 'a' },
      { text: 'b' },
      { thought: 'c' },
      ...whole(1, 'Bergen'),
      piece(0, '"Oslo"}'),
    ],
    [got('Oslo'), 'ab', '(c)', got('Bergen')],
  ],
  ['a call without arguments before another', [call(0, 'now'), ...whole(1, 'Oslo')], ['now {}', got('Oslo')]],
  ['a call without arguments behind text', [{ text: 'So.' }, call(0, 'now')], ['So.', 'now {}']],
  ['two calls without arguments', [call(0, 'now'), call(1, 'here')], ['now {}', 'here {}']],
  [
    'arguments that are no object before a call',
    [call(0), piece(0, 'in Oslo'), ...whole(1, 'Bergen')],
    ['weather in Oslo', got('Bergen')],
  ],
  ['a custom tool before a function', [...patch(0), ...whole(1, 'Oslo')], [PATCHED, got('Oslo')]],
  [
    'a custom tool amid functions and text',
    [...whole(0, 'Oslo'), { text: 'Then.' }, ...patch(1), ...whole(2, 'Bergen')],
    [got('Oslo'), 'Then.', PATCHED, got('Bergen')],
  ],
  [
    'interleaved custom tools',
    [call(0, 'apply_patch'), ...patch(1), piece(0, '{"input":"}'), piece(0, '{"}')],
    ['apply_patch }{', PATCHED],
  ],
  [
    'a local shell before a custom tool',
    [call(0, 'local_shell'), ...patch(1), piece(0, '{"command":["ls"]}')],
    ['local_shell ls', PATCHED],
  ],
]

const TOOLS = [
  ...['weather', 'now', 'here'].map((name) => ({ type: 'function', name, parameters: { type: 'object' } })),
  { type: 'custom', name: 'apply_patch' },
  { type: 'local_shell' },
]

function chunks(steps: readonly Step[]): string {
  const deltas = steps.map((step) => {
    if ('text' in step) return { content: step.text }
    if ('thought' in step) return { reasoning_content: step.thought }
    if ('of' in step) return { tool_calls: [{ index: step.of, function: { arguments: step.piece } }] }
    const { call: index, name } = step
    return { tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name, arguments: '' } }] }
  })
  return ROLE + deltas.map((delta) => chunk(delta)).join('') + ending('tool_calls')
}

/** Blocks of calls stay open until the end, so that their pieces may be interleaved. */
function blockEvents(steps: readonly Step[]): string {
  const events: object[] = [
    { type: 'message_start', message: { id: 'up', role: 'assistant', content: [], usage: { input_tokens: 10 } } },
  ]
  const places = new Map<number, number>()
  let blocks = 0
  const start = (block: object) => {
    events.push({ type: 'content_block_start', index: blocks, content_block: block })
    return blocks++
  }
  const delta = (index: number | undefined, said: object) =>
    events.push({ type: 'content_block_delta', index, delta: said })
  for (const step of steps) {
    if ('call' in step)
      places.set(step.call, start({ type: 'tool_use', id: `call_${step.call}`, name: step.name, input: {} }))
    else if ('of' in step) delta(places.get(step.of), { type: 'input_json_delta', partial_json: step.piece })
    else if ('text' in step) {
      const index = start({ type: 'text', text: '' })
      delta(index, { type: 'text_delta', text: step.text })
      events.push({ type: 'content_block_stop', index })
    } else {
      const index = start({ type: 'thinking', thinking: '', signature: '' })
      delta(index, { type: 'thinking_delta', thinking: step.thought })
      events.push({ type: 'content_block_stop', index })
    }
  }
  for (const index of places.values()) events.push({ type: 'content_block_stop', index })
  events.push({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } })
  events.push({ type: 'message_stop' })
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
}

const DIALECTS = { openai: chunks, anthropic: blockEvents }
let stack: Stack
let provider: ScriptedProvider
let apiKey: string

before(async () => {
  const plays = Object.entries(DIALECTS).map(([dialect, write]) => [
    dialect,
    (response: ServerResponse, body: Record<string, unknown>) => {
      const [, steps] = ROWS[Number(/row (\d+)/.exec(JSON.stringify(body['messages']))?.[1])] ?? assert.fail()
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(write(steps))
    },
  ])
  provider = await ScriptedProvider.start(Object.fromEntries(plays))
  const providers = Object.keys(DIALECTS).map((dialect) => ({ id: dialect, dialect, base_url: provider.url }))
  const models = providers.map(({ id }) => ({
    id: `test/${id}`,
    endpoints: ['responses'],
    routes: [{ provider: id, model: id }],
  }))
  stack = await startStack({ catalog: { providers, models } })
  apiKey = (await stack.createAccount()).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

/** An item as one line. */
function lineOf(item: Record<string, unknown>): string {
  const text = (parts: unknown) => (parts as readonly { readonly text: string }[]).map((part) => part.text).join('')
  const { type, name, arguments: said, input, content, summary, action } = item
  if (type === 'message') return text(content)
  if (type === 'reasoning') return `(${text(summary)})`
  if (type === 'local_shell_call') return `local_shell ${(action as { readonly command: string[] }).command.join(' ')}`
  return `${String(name)} ${String(said ?? input)}`
}

for (const dialect of Object.keys(DIALECTS)) {
  for (const [place, [name, , items]] of ROWS.entries()) {
    test(`${name}, over a provider of the ${dialect} dialect`, async () => {
      const body = { model: `test/${dialect}`, input: `row ${place}`, tools: TOOLS, stream: true }
      const { text } = await post(stack.baseUrl, '/v1/responses', apiKey, body)
      const last = /^event: response\.completed\ndata: (.*)$/m.exec(text)?.[1] ?? assert.fail(text)
      const { response } = JSON.parse(last) as { readonly response: { readonly output: Record<string, unknown>[] } }
      assert.deepEqual(response.output.map(lineOf), items)
    })
  }
}
