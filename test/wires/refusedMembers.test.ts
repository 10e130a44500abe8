// Goal: a model that refuses an option answers clients that send it, which some packages always do, and they learn that it had no
// effect. One row a sentence of a provider (crewAI 4149, Flowise 5227, litellm 11182, OmniRoute 4713, claude-code-router 377).
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { postJson } from '../support/clients/mediaClient.ts'
import { turnCatalog, turnModels } from '../support/providers/turnCatalog.ts'
import { refusal, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { HELLO, text } from './blockRows.ts'
import { CHAT, FORCES, OTHERS, type Row, THINKING, TOOLS } from './demandRows.ts'
import { EFFORTS } from './effortRows.ts'
import { HINTS, TOOL_MEMBERS } from './unknownMemberRows.ts'

const MARK = { cache_control: { type: 'ephemeral' } }
const marked = { role: 'user', content: [{ ...text('hi'), ...MARK }] }
const ROWS: readonly Row[] = [
  {
    ...CHAT,
    sentence: "Unsupported parameter: 'stop' is not supported with this model.",
    body: { stop: ['\nObservation:'] },
    refused: '"stop"',
    dropped: 'stop',
  },
  {
    ...CHAT,
    sentence: "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.",
    body: { tools: TOOLS, parallel_tool_calls: false },
    refused: '"parallel_tool_calls"',
    dropped: null,
  },
  {
    ...CHAT,
    sentence: "Unsupported parameter: 'logprobs' is not supported with this model.",
    body: { logprobs: true, top_logprobs: 2 },
    refused: 'logprobs"',
    dropped: 'logprobs, top_logprobs',
  },
  {
    ...CHAT,
    sentence: 'Unrecognized request argument supplied: reasoning_effort',
    body: { reasoning_effort: 'low' },
    refused: '"reasoning_effort"',
    dropped: 'reasoning_effort',
  },
  {
    from: 'messages',
    to: 'anthropic',
    sentence: 'This model does not support the effort parameter.',
    body: { max_tokens: 2_000, output_config: { effort: 'high' } },
    refused: '"effort"',
    dropped: null,
  },
  {
    from: 'messages',
    to: 'openai',
    sentence: "Extra inputs are not permitted, field: 'messages[0].content[0].cache_control'",
    body: { max_tokens: 100, messages: [marked] },
    refused: '"cache_control"',
    dropped: null,
  },
  {
    from: 'messages',
    to: 'anthropic',
    sentence: 'messages.0.content.0.text.cache_control: Extra inputs are not permitted',
    body: { max_tokens: 100, messages: [marked] },
    refused: '"cache_control"',
    dropped: null,
  },
  {
    ...CHAT,
    sentence: "Unknown parameter: 'tools[0].cache_control'.",
    body: { tools: TOOLS.map((tool) => ({ ...tool, function: { ...tool.function, ...MARK } })) },
    refused: '"cache_control"',
    dropped: null,
  },
]

let stack: Stack
let provider: TurnProvider
let apiKey: string
let row: Row | undefined

before(async () => {
  provider = await TurnProvider.start(({ body, path }) => {
    const isRefused = row !== undefined && JSON.stringify(body).includes(row.refused)
    return isRefused ? refusal(row?.sentence ?? '', path) : { text: 'ok' }
  })
  // Every request has to be refused: what an earlier one has found out is forgotten.
  const { providers = [], models = [] } = turnCatalog(provider.url, { thinking: 'effort' })
  stack = await startStack({
    catalog: {
      providers: [...providers, { id: 'thinks', base_url: provider.url, thinking_member: 'reasoning' }],
      models: [...models, ...turnModels(['thinks'])],
    },
    limits: { refusedPartKeptMs: 1 },
  })
  apiKey = (await stack.createAccount()).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

describe('an option that a model refuses', () => {
  for (const one of [...ROWS, ...FORCES, ...THINKING, ...EFFORTS, ...TOOL_MEMBERS, ...HINTS, ...OTHERS]) {
    test(`${one.from} to ${one.to}: ${one.sentence} (${one.refused})`, async () => {
      row = one
      const before = provider.asked.length
      const said = one.from === 'responses' ? {} : { messages: [HELLO] }
      const body = { model: `test/${one.to}`, ...said, ...one.body }
      const reply = await postJson(`${stack.baseUrl}/v1/${one.from}`, apiKey, body)
      assert.equal(reply.status, 200, reply.text)
      assert.equal(provider.asked.length - before, 2)
      assert.equal(reply.headers.get('x-dropped-parameters'), one.dropped)
      if (one.instead !== undefined) assert.ok(JSON.stringify(provider.last.body).includes(one.instead))
    })
  }

  for (const sentence of [
    'the stop is not supported',
    'tool_choice names a tool that is not in tools, which are supported',
    "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model.",
    "Unsupported value: 'verbosity' does not support 'low' with this model. Supported values are: 'medium', and 'high'.",
    "reasoning_effort: Input should be 'none', 'low', 'medium', 'high', 'xhigh' or 'max'",
    'Your request does not support the best effort mode',
    'logit_bias: value 200 is not allowed',
    "Unknown parameter: 'tools[0].logprobs'",
    'tools.0.foo: Extra inputs are not permitted, messages.0.cache_control: Field required',
    "tools.0.name: 'strict' is not allowed",
    "Unknown parameter: 'strict'",
    'the user is not supported in this region',
    'messages.0.user: Extra inputs are not permitted',
  ]) {
    test(`is told of what its sentence says of anything else: ${sentence}`, async () => {
      row = { ...CHAT, sentence, body: {}, refused: 'm', dropped: null }
      const body = { model: 'test/openai', messages: [HELLO], stop: ['x'], reasoning_effort: 'low' }
      const reply = await postJson(`${stack.baseUrl}/v1/chat/completions`, apiKey, body)
      assert.equal(reply.status, 400)
      assert.ok(reply.text.includes(JSON.stringify(sentence).slice(1, -1)), reply.text)
    })
  }
})
