import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { post, readResponseStream } from '../support/clients/responsesClient.ts'
import { TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { fn, HELLO } from './itemRows.ts'

const MODEL = 'test/turns'

let stack: Stack
let provider: TurnProvider
let apiKey: string

before(async () => {
  provider = await TurnProvider.start(({ body }) => {
    const { content } = (body['messages'] as { content: unknown }[]).at(-1) ?? {}
    const text = String(content)
    return text.startsWith('{') ? { calls: [JSON.parse(text)] } : { text: 'ok' }
  })
  const routes = [{ provider: 'turns', model: 'm' }]
  stack = await startStack({
    catalog: {
      providers: [{ id: 'turns', base_url: provider.url }],
      models: [{ id: MODEL, endpoints: ['responses'], routes }],
    },
  })
  apiKey = (await stack.createAccount()).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

const GRAMMAR = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }
const PATCH = { type: 'custom', name: 'apply_patch', description: 'Patches.', format: GRAMMAR }
const AGENTS = { type: 'namespace', name: 'agents', description: 'Agents.', tools: [fn('spawn')] }
const SEARCH = { type: 'tool_search', execution: 'client', description: 'Finds.', parameters: { type: 'object' } }
const LONG = `mcp__${'server_'.repeat(12)}__read`

/** Tools of a request, the call that the model makes, and the item that the client gets. */
type Call = readonly [title: string, tools: object[], call: object, item: object]

const shellCall = (action: object) => ({
  type: 'shell_call',
  action: { commands: [], timeout_ms: null, max_output_length: null, ...action },
  environment: { type: 'local' },
})
const patchCall = (title: string, args: string, operation: object): Call => [
  title,
  [{ type: 'apply_patch' }],
  { name: 'apply_patch', arguments: args },
  { type: 'apply_patch_call', operation },
]

const CALLS: readonly Call[] = [
  [
    'a custom tool',
    [PATCH],
    { name: 'apply_patch', arguments: '{"input":"*** Begin\\n"}' },
    { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin\n' },
  ],
  [
    'a custom tool whose model writes the text itself',
    [PATCH],
    { name: 'apply_patch', arguments: '*** Begin\n' },
    { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin\n' },
  ],
  [
    'a custom tool whose model names the text otherwise',
    [PATCH],
    { name: 'apply_patch', arguments: '{"patch":"p"}' },
    { type: 'custom_tool_call', name: 'apply_patch', input: 'p' },
  ],
  [
    'a tool in a namespace',
    [AGENTS],
    { name: 'agents__spawn', arguments: '{}' },
    { type: 'function_call', namespace: 'agents', name: 'spawn', arguments: '{}' },
  ],
  [
    'a search for tools',
    [SEARCH],
    { name: 'tool_search', arguments: '{"query":"mail"}' },
    { type: 'tool_search_call', execution: 'client', arguments: { query: 'mail' } },
  ],
  [
    'a local shell',
    [{ type: 'local_shell' }],
    { name: 'local_shell', arguments: '{"command":["ls"]}' },
    { type: 'local_shell_call', action: { command: ['ls'], env: {}, type: 'exec' } },
  ],
  [
    'a shell',
    [{ type: 'shell', environment: { type: 'local' } }],
    { name: 'shell', arguments: '{"commands":["ls","pwd"],"timeout_ms":1000}' },
    shellCall({ commands: ['ls', 'pwd'], timeout_ms: 1_000 }),
  ],
  [
    'a shell without an environment, whose model writes one line',
    [{ type: 'shell' }],
    { name: 'shell', arguments: '{"commands":"ls","timeout_ms":"soon","max_output_length":9}' },
    shellCall({ commands: ['ls'], max_output_length: 9 }),
  ],
  ['a shell whose model writes no JSON', [{ type: 'shell' }], { name: 'shell', arguments: 'ls' }, shellCall({})],
  ...[
    ['that creates a file', { type: 'create_file', path: 'a', diff: '+x' }],
    ['that changes a file', { type: 'update_file', path: 'a', diff: '@@\n-x\n+y' }],
    ['that deletes a file', { type: 'delete_file', path: 'a' }],
  ].map(([title, operation]): Call => patchCall(`a patch ${title}`, JSON.stringify(operation), operation as object)),
  patchCall('a patch of no operation', '{"path":"a"}', { type: 'update_file', path: 'a', diff: '' }),
  patchCall('a patch in place of arguments', '*** Begin', { type: 'update_file', path: '', diff: '*** Begin' }),
  patchCall('a patch without arguments', '', { type: 'update_file', path: '', diff: '' }),
  [
    'a plain function',
    [fn('f')],
    { name: 'f', arguments: '{}' },
    { type: 'function_call', name: 'f', arguments: '{}' },
  ],
]

describe('tools of a request', () => {
  for (const [title, tools, call, item] of CALLS) {
    for (const stream of [false, true]) {
      test(`${title}${stream ? ', streamed' : ''}`, async () => {
        const body = { model: MODEL, tools, stream, input: JSON.stringify(call) }
        const reply = await post(stack.baseUrl, '/v1/responses', apiKey, body)
        assert.equal(reply.status, 200, reply.text)
        const response = stream ? responseIn(reply.text) : JSON.parse(reply.text)
        const { id: _id, status, call_id: _call, ...members } = response.output[0]
        assert.equal(status, 'completed')
        assert.deepEqual(members, item)
      })
    }
  }

  test('a custom tool comes in events of its own', async () => {
    const body = {
      model: MODEL,
      tools: [PATCH],
      stream: true,
      input: '{"name":"apply_patch","arguments":"{\\"input\\":\\"x\\"}"}',
    }
    const { text } = await post(stack.baseUrl, '/v1/responses', apiKey, body)
    const events = eventsIn(text).filter(({ type }) => String(type).startsWith('response.custom_tool_call_input'))
    assert.deepEqual(
      events.map(({ type, delta, input }) => [type, delta ?? input]),
      [
        ['response.custom_tool_call_input.delta', 'x'],
        ['response.custom_tool_call_input.done', 'x'],
      ],
    )
  })

  test('a grammar is shown to the model, and the tool takes one text', async () => {
    await post(stack.baseUrl, '/v1/responses', apiKey, { model: MODEL, tools: [PATCH], input: 'hi' })
    const [{ function: sent }] = provider.last.body['tools'] as [{ function: Record<string, unknown> }]
    assert.equal(sent['description'], 'Patches.\n\nThe input has to match this lark grammar:\nstart: "x"')
    assert.deepEqual(Object.keys((sent['parameters'] as { properties: object }).properties), ['input'])
  })

  test('tools of items join, and the newest of a name counts', async () => {
    const older = { type: 'additional_tools', role: 'developer', tools: [{ ...fn('f'), description: 'old' }, AGENTS] }
    const newer = { type: 'additional_tools', tools: [{ ...fn('f'), description: 'new' }] }
    await post(stack.baseUrl, '/v1/responses', apiKey, { model: MODEL, tools: [fn('g')], input: [older, newer, HELLO] })
    const tools = provider.last.body['tools'] as { function: { name: string; description?: string } }[]
    assert.deepEqual(
      tools.map(({ function: { name, description } }) => [name, description]),
      [
        ['g', undefined],
        ['f', 'new'],
        ['agents__spawn', undefined],
      ],
    )
  })

  test('a name that no provider takes is shortened, also in the history, and comes back whole', async () => {
    const history = { type: 'function_call', call_id: 'c1', name: LONG, arguments: '{}' }
    const body = { model: MODEL, tools: [fn(LONG)], tool_choice: { type: 'function', name: LONG } }
    await post(stack.baseUrl, '/v1/responses', apiKey, {
      ...body,
      input: [history, { type: 'function_call_output', call_id: 'c1', output: 'x' }, HELLO],
    })
    const { tools, messages, tool_choice } = provider.last.body as {
      tools: [{ function: { name: string } }]
      messages: [{ tool_calls: [{ function: { name: string } }] }]
      tool_choice: { function: { name: string } }
    }
    const { name } = tools[0].function
    assert.ok(name.length <= 64)
    assert.equal(messages[0].tool_calls[0].function.name, name)
    assert.equal(tool_choice.function.name, name)
    const reply = await post(stack.baseUrl, '/v1/responses', apiKey, {
      ...body,
      stream: true,
      input: JSON.stringify({ name, arguments: '{}' }),
    })
    assert.equal(readResponseStream(reply).response.output[0]?.name, LONG)
  })

  test('a choice of a hosted tool, which is left out, leaves the choice to the model', async () => {
    const body = { model: MODEL, input: 'hi', tools: [fn('f'), { type: 'web_search' }] }
    const reply = await post(stack.baseUrl, '/v1/responses', apiKey, { ...body, tool_choice: { type: 'web_search' } })
    assert.equal(reply.status, 200, reply.text)
    assert.ok(!('tool_choice' in provider.last.body))
    const unknown = await post(stack.baseUrl, '/v1/responses', apiKey, { ...body, tool_choice: { type: 'mcp' } })
    assert.equal(unknown.status, 400)
  })

  for (const type of ['shell', 'apply_patch', 'local_shell']) {
    test(`a choice of the tool ${type} names its function`, async () => {
      const body = { model: MODEL, input: 'hi', tools: [fn('f'), { type }] }
      const choices = [{ type }, { type: 'function', name: type }]
      for (const choice of choices) {
        const reply = await post(stack.baseUrl, '/v1/responses', apiKey, { ...body, tool_choice: choice })
        assert.equal(reply.status, 200, reply.text)
        assert.deepEqual(provider.last.body['tool_choice'], { type: 'function', function: { name: type } })
        assert.deepEqual(JSON.parse(reply.text).tool_choice, { type })
      }
      const allowed = { type: 'allowed_tools', mode: 'required', tools: [{ type }] }
      await post(stack.baseUrl, '/v1/responses', apiKey, { ...body, tool_choice: allowed })
      const { tools, tool_choice: choice } = provider.last.body as {
        tools: { function: object }[]
        tool_choice: unknown
      }
      assert.deepEqual([tools.map((tool) => Reflect.get(tool.function, 'name')), choice], [[type], 'required'])
    })
  }

  for (const environment of [{ type: 'container_auto' }, { type: 'container_reference', container_id: 'c' }]) {
    test(`a shell in a container (${environment.type}) is left out`, async () => {
      const shell = { type: 'shell', environment }
      const body = { model: MODEL, input: 'hi', tools: [fn('f'), shell], tool_choice: { type: 'shell' } }
      const reply = await post(stack.baseUrl, '/v1/responses', apiKey, body)
      assert.deepEqual([reply.status, reply.headers.get('x-dropped-parameters')], [200, 'tools'])
      const sent = provider.last.body['tools'] as { function: { name: string } }[]
      assert.deepEqual(
        sent.map((tool) => tool.function.name),
        ['f'],
      )
    })
  }

  test('the skills of a shell are shown to the model', async () => {
    const skills = [{ name: 'pdf', description: 'Reads PDFs.', path: '/skills/pdf' }]
    const tools = [{ type: 'shell', environment: { type: 'local', skills } }]
    const reply = await post(stack.baseUrl, '/v1/responses', apiKey, { model: MODEL, input: 'hi', tools })
    const [{ function: sent }] = provider.last.body['tools'] as [{ function: { description: string } }]
    assert.match(sent.description, /pdf: Reads PDFs\. \(\/skills\/pdf\)/)
    assert.deepEqual(JSON.parse(reply.text).tools, tools)
  })

  test('a request may have 512 tools', async () => {
    const tools = Array.from({ length: 512 }, (_, i) => fn(`f${i}`))
    const reply = await post(stack.baseUrl, '/v1/responses', apiKey, { model: MODEL, tools, input: 'hi' })
    assert.equal(reply.status, 200, reply.text)
    assert.equal((provider.last.body['tools'] as unknown[]).length, 512)
  })
})

interface Event {
  readonly type: string
  readonly response?: { output: Record<string, unknown>[] }
  [member: string]: unknown
}

function eventsIn(text: string): Event[] {
  const lines = text.split('\n').filter((line) => line.startsWith('data: {'))
  return lines.map((line) => JSON.parse(line.slice(6)) as Event)
}

function responseIn(text: string) {
  const { response } = eventsIn(text).at(-1) ?? {}
  assert.ok(response !== undefined)
  return response as { output: [Record<string, unknown>] }
}
