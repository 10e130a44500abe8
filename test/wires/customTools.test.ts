// Goal: clients of chats call custom tools, whose input is free text, over every provider. A client that declares them in the form of
// a chat gets calls of custom tools; one that declares them as Responses do, as Cursor's agent does, gets calls of functions whose
// arguments are the text, also where its whole request is one of responses. What they keep of a call goes back to the provider.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import OpenAI from 'openai'
import NewestOpenAI from 'openai-7'
import { postTo } from '../support/clients/chatClient.ts'
import { itemOf } from '../support/present.ts'
import { TURN_USAGE, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'

const PATCH = '*** Begin Patch\n*** Update File: a "b".ts\n-\told \\n\n+\tné\u2028w\n*** End Patch'
const GRAMMAR = { syntax: 'lark' as const, definition: 'start: "*** Begin Patch" hunk+ "*** End Patch"' }
const OSLO = { name: 'weather', arguments: '{"city":"Oslo"}' }
const EXTRA = { google: { thought_signature: 'c2lnbmVk' } }
const WEATHER = { type: 'function' as const, function: { name: 'weather', parameters: { type: 'object' } } }
const custom = {
  name: 'ApplyPatch',
  description: 'Edits files.',
  format: { type: 'grammar' as const, grammar: GRAMMAR },
}
const NESTED = [WEATHER, { type: 'custom' as const, custom }]
const flat = {
  type: 'custom',
  name: 'ApplyPatch',
  description: 'Edits files.',
  format: { type: 'grammar', ...GRAMMAR },
}
const FIRST = { role: 'user' as const, content: 'Change it.' }
const MODELS = ['test/open', 'test/blocks']

type Call = OpenAI.Chat.Completions.ChatCompletionMessageToolCall
type Body = Readonly<Record<string, unknown>>

let stack: Stack
let provider: TurnProvider
let apiKey: string
let openai: OpenAI
let newest: NewestOpenAI

before(async () => {
  provider = await TurnProvider.start(({ body }) => {
    if (/Done!/.test(JSON.stringify(body))) return { text: 'It is changed.' }
    const patch = { name: 'ApplyPatch', arguments: JSON.stringify({ input: PATCH }), extra: EXTRA }
    return { reasoning: 'hm', text: 'I change it.', calls: [patch, OSLO] }
  })
  const providers = [
    { id: 'open', dialect: 'openai', extra_members: ['extra_content'] },
    { id: 'blocks', dialect: 'anthropic' },
  ].map((own) => ({ ...own, base_url: provider.url }))
  stack = await startStack({
    catalog: {
      providers,
      models: providers.map(({ id }) => ({
        id: `test/${id}`,
        endpoints: ['chat', 'responses'],
        routes: [{ provider: id, model: 'm' }],
      })),
    },
  })
  apiKey = (await stack.createAccount()).apiKey
  const options = { baseURL: `${stack.baseUrl}/v1`, apiKey, maxRetries: 0 }
  openai = new OpenAI(options)
  newest = new NewestOpenAI(options)
})

after(async () => {
  await stack.settled()
  await stack.audit()
  await stack.finish()
  await provider.stop()
})

/** The calls and results that the provider has got last, in the form of a chat. */
function sentCalls(): unknown[] {
  const turns = provider.last.body['messages'] as readonly Body[]
  return turns.flatMap(({ tool_calls: calls, content }) => {
    const blocks = Array.isArray(content) ? (content as readonly Body[]).filter(({ type }) => type === 'tool_use') : []
    return [
      ...((calls ?? []) as readonly { readonly function: { readonly name: string; readonly arguments: string } }[]).map(
        ({ function: { name, arguments: text } }) => [name, JSON.parse(text) as unknown],
      ),
      ...blocks.map(({ name, input }) => [name, input]),
    ]
  })
}

const SENT = [
  ['ApplyPatch', { input: PATCH }],
  ['weather', { city: 'Oslo' }],
]

/** The description of the tool as the provider has got it. */
function sentTool(): Body {
  const tools = provider.last.body['tools'] as readonly Body[]
  const found = tools.map((tool) => (tool['function'] ?? tool) as Body).find(({ name }) => name === 'ApplyPatch')
  assert.ok(found !== undefined)
  return found
}

function checkTool(): void {
  const { description, parameters, input_schema: schema } = sentTool()
  assert.match(String(description), /^Edits files\.\n\nThe input has to match this lark grammar:\nstart: /)
  assert.deepEqual(((parameters ?? schema) as Body)['required'], ['input'])
}

async function posted(body: Body): Promise<{ readonly status: number; readonly json: Body }> {
  const { status, text } = await postTo(`${stack.baseUrl}/v1/chat/completions`, apiKey, JSON.stringify(body))
  return { status, json: JSON.parse(text) as Body }
}

const resultsOf = (calls: readonly { readonly id: string }[]) =>
  calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'Done!' }))

/** Puts the pieces of calls together. */
function joined(chunks: readonly Body[]): Body[] {
  const calls: Record<string, unknown>[] = []
  const deltas = chunks.flatMap((chunk) =>
    (chunk['choices'] as readonly { readonly delta: Body }[]).map(({ delta }) => delta),
  )
  for (const piece of deltas.flatMap((delta) => (delta['tool_calls'] ?? []) as readonly Body[])) {
    const { index, function: fn, ...rest } = piece as { index: number; function?: { arguments: string } } & Body
    const before = calls[index] as { readonly function?: { readonly arguments: string } } | undefined
    const text = (before?.function?.arguments ?? '') + (fn?.arguments ?? '')
    calls[index] = { ...before, ...rest, function: { ...before?.function, ...fn, arguments: text } }
  }
  return calls
}

describe('a custom tool in the form of a chat', () => {
  for (const model of MODELS) {
    for (const isStream of [true, false]) {
      test(`over ${model}, ${isStream ? 'streamed' : 'in one piece'}`, async () => {
        const body = { model, messages: [FIRST], tools: NESTED }
        const { choices } = isStream
          ? await newest.chat.completions.stream(body).finalChatCompletion()
          : await openai.chat.completions.create(body)
        checkTool()
        const { message, finish_reason: reason } = itemOf(choices as OpenAI.Chat.Completions.ChatCompletion.Choice[], 0)
        assert.equal(reason, 'tool_calls')
        assert.equal(message.content, 'I change it.')
        const calls = message.tool_calls ?? []
        const [patch, weather] = calls
        assert.ok(patch?.type === 'custom' && weather?.type === 'function')
        assert.deepEqual(patch.custom, { name: 'ApplyPatch', input: PATCH })
        assert.deepEqual({ ...weather.function, parsed_arguments: undefined }, { ...OSLO, parsed_arguments: undefined })
        const next = { model, messages: [FIRST, message, ...resultsOf(calls)], tools: NESTED }
        const last = await openai.chat.completions.create(next)
        assert.equal(itemOf(last.choices, 0).message.content, 'It is changed.')
        assert.deepEqual(sentCalls(), SENT)
        const member = (patch as Call & Body)['extra_content']
        assert.deepEqual(member, model === 'test/open' ? EXTRA : undefined)
      })
    }
  }

  test('the tool is chosen by its name', async () => {
    const choice = { type: 'custom' as const, custom: { name: 'ApplyPatch' } }
    await openai.chat.completions.create({ model: 'test/open', messages: [FIRST], tools: NESTED, tool_choice: choice })
    assert.deepEqual(provider.last.body['tool_choice'], { type: 'function', function: { name: 'ApplyPatch' } })
  })

  test('in a batch job it is refused', async () => {
    const { status, json } = await posted({ model: 'test/open', batch: true, messages: [FIRST], tools: NESTED })
    assert.equal(status, 400)
    assert.equal((json['error'] as Body)['param'], 'tools')
  })

  for (const tool of [{ type: 'custom', custom: {} }, { type: 'custom' }, { type: 'custom', custom: 'ApplyPatch' }]) {
    test(`without a name it is refused: ${JSON.stringify(tool)}`, async () => {
      const { status, json } = await posted({ model: 'test/open', messages: [FIRST], tools: [tool] })
      assert.equal(status, 400)
      assert.equal((json as { readonly error: Body }).error['param'], 'tools[0].custom')
    })
  }
})

/** The bodies of an agent that mixes the formats, for its first turn and for the one after the calls. */
const MIXED: Readonly<Record<string, (model: string, calls: readonly Body[]) => Body>> = {
  'a chat with a tool of responses': (model, calls) => ({
    model,
    messages:
      calls.length === 0
        ? [FIRST]
        : [FIRST, { role: 'assistant', content: null, tool_calls: calls }, ...results(calls)],
    tools: [WEATHER, flat],
  }),
  'a request of responses sent for a chat': (model, calls) => ({
    model,
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'Change it.' }] },
      ...calls.map(({ id, function: said }) => ({ type: 'function_call', call_id: id, ...(said as Body) })),
      ...calls.map(({ id }) => ({ type: 'function_call_output', call_id: id, output: 'Done!' })),
    ],
    tools: [{ type: 'function', name: 'weather', parameters: { type: 'object' } }, flat],
    max_tokens: 50,
    include: ['reasoning.encrypted_content'],
    reasoning: { effort: 'low', summary: 'auto' },
    store: false,
  }),
}

const results = (calls: readonly Body[]) => resultsOf(calls as readonly (Body & { readonly id: string })[])

async function said(body: Body): Promise<{ calls: readonly Body[]; text: string; usage: unknown }> {
  if (body['stream'] !== true) {
    const { status, json } = await posted(body)
    assert.equal(status, 200, JSON.stringify(json))
    const { choices, usage, object } = json as unknown as OpenAI.Chat.Completions.ChatCompletion
    assert.equal(object, 'chat.completion')
    const { message } = itemOf(choices, 0)
    return { calls: (message.tool_calls ?? []) as unknown as readonly Body[], text: message.content ?? '', usage }
  }
  const stream = await openai.chat.completions.create(
    body as unknown as OpenAI.Chat.ChatCompletionCreateParamsStreaming,
  )
  const chunks: OpenAI.Chat.ChatCompletionChunk[] = []
  for await (const chunk of stream) chunks.push(chunk)
  const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
  return { calls: joined(chunks as unknown as readonly Body[]), text, usage: chunks.at(-1)?.usage }
}

describe('a custom tool of an agent that mixes the formats', () => {
  for (const [title, bodyOf] of Object.entries(MIXED)) {
    for (const model of MODELS) {
      for (const stream of [true, false]) {
        test(`${title}, over ${model}, ${stream ? 'streamed' : 'in one piece'}`, async () => {
          const more = stream ? { stream, stream_options: { include_usage: true } } : {}
          const first = await said({ ...bodyOf(model, []), ...more })
          checkTool()
          if ('input' in bodyOf(model, [])) assert.equal(provider.last.body['max_tokens'], 50)
          assert.equal(first.text, 'I change it.')
          assert.equal((first.usage as { readonly prompt_tokens: number }).prompt_tokens, TURN_USAGE.prompt)
          assert.deepEqual(
            first.calls.map(({ type, function: called }) => [type, called]),
            [
              ['function', { name: 'ApplyPatch', arguments: PATCH }],
              ['function', OSLO],
            ],
          )
          const last = await said({ ...bodyOf(model, first.calls), ...more })
          assert.equal(last.text, 'It is changed.')
          assert.deepEqual(sentCalls(), SENT)
        })
      }
    }
  }

  test('the tool in the form of a chat, in a request of responses', async () => {
    const [, nested] = NESTED
    const tool = nested as unknown as OpenAI.Responses.Tool
    const choice = { type: 'custom', custom: { name: 'ApplyPatch' } } as unknown as OpenAI.Responses.ToolChoiceCustom
    const { output } = await openai.responses.create({
      model: 'test/open',
      input: [FIRST],
      tools: [tool],
      tool_choice: choice,
    })
    checkTool()
    const call = output.find(({ type }) => type === 'custom_tool_call')
    assert.ok(call?.type === 'custom_tool_call')
    assert.deepEqual([call.name, call.input], ['ApplyPatch', PATCH])
  })

  test('images and long texts of such a request reach the provider', async () => {
    const text = 'long "text" '.repeat(10_000)
    const url = `data:image/png;base64,${'AAAA'.repeat(30_000)}`
    const content = [
      { type: 'input_text', text },
      { type: 'input_image', image_url: url },
    ]
    const { status } = await posted({ model: 'test/open', input: [{ role: 'user', content }] })
    assert.equal(status, 200)
    const [turn] = provider.last.body['messages'] as readonly Body[]
    assert.deepEqual(turn?.['content'], [
      { type: 'text', text },
      { type: 'image_url', image_url: { url } },
    ])
  })
})
