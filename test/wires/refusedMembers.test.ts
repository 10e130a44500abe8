// Goal: a model that refuses an option answers clients that send it, which some packages always do, and they learn that it had no
// effect. One row a sentence of a provider (crewAI 4149, Flowise 5227, litellm 11182, OmniRoute 4713, claude-code-router 377).
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { postJson } from '../support/clients/mediaClient.ts'
import { turnCatalog } from '../support/providers/turnCatalog.ts'
import { refusal, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { HELLO, text } from './blockRows.ts'

interface Row {
  readonly sentence: string
  readonly from: 'chat/completions' | 'messages' | 'responses'
  readonly to: 'openai' | 'anthropic'
  readonly body: object
  /** What the provider refuses, in the JSON of its request. */
  readonly refused: string
  readonly dropped: string | null
  /** What the provider gets in place of it. */
  readonly instead?: string
}

const TOOLS = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]
const marked = { role: 'user', content: [{ ...text('hi'), cache_control: { type: 'ephemeral' } }] }
const CHAT = { from: 'chat/completions', to: 'openai' } as const

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
]

const CLAUDE = { from: 'chat/completions', to: 'anthropic' } as const
const FORCED = 'tool_choice: type "tool" and "any" are not supported for this model.'
const NATIVE_TOOLS = [{ name: 'f', input_schema: { type: 'object' } }]
const ANY_CALL = 'Answer by calling one of the tools.'
const CALL = 'Answer by calling the tool f.'

/** Packages that want a structured answer force a call; current models think, and take no force. */
const FORCES: readonly Row[] = [
  {
    ...CLAUDE,
    sentence: FORCED,
    body: { tools: TOOLS, tool_choice: 'required' },
    refused: '"any"',
    instead: ANY_CALL,
    dropped: 'tool_choice',
  },
  {
    ...CLAUDE,
    sentence: FORCED,
    body: { tools: TOOLS, tool_choice: { type: 'function', function: { name: 'f' } }, parallel_tool_calls: false },
    refused: '"type":"tool"',
    instead: '"tool_choice":{"type":"auto","disable_parallel_tool_use":true}',
    dropped: 'tool_choice',
  },
  {
    ...CLAUDE,
    from: 'messages',
    sentence: FORCED,
    body: { max_tokens: 100, tools: NATIVE_TOOLS, tool_choice: { type: 'tool', name: 'f' } },
    refused: '"type":"tool"',
    instead: CALL,
    dropped: 'tool_choice',
  },
  {
    ...CLAUDE,
    from: 'responses',
    sentence: FORCED,
    body: {
      input: 'hi',
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
      tool_choice: { type: 'function', name: 'f' },
    },
    refused: '"type":"tool"',
    instead: CALL,
    dropped: 'tool_choice',
  },
  {
    ...CLAUDE,
    sentence: 'Thinking may not be enabled when tool_choice forces tool use.',
    body: { tools: TOOLS, tool_choice: 'required' },
    refused: '"any"',
    instead: ANY_CALL,
    dropped: 'tool_choice',
  },
  {
    ...CHAT,
    sentence: 'deepseek-reasoner does not support this tool_choice',
    body: { tools: TOOLS, tool_choice: 'required' },
    refused: '"tool_choice"',
    instead: ANY_CALL,
    dropped: 'tool_choice',
  },
  {
    ...CHAT,
    sentence: 'The tool_choice parameter does not support being set to required or object in thinking mode',
    body: {
      tools: TOOLS,
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
    },
    refused: '"tool_choice"',
    instead: ANY_CALL,
    dropped: 'tool_choice',
  },
  {
    ...CHAT,
    sentence: "tool_choice 'specified' is incompatible with thinking enabled",
    body: { tools: TOOLS, tool_choice: { type: 'function', function: { name: 'f' } } },
    refused: '"tool_choice"',
    instead: CALL,
    dropped: 'tool_choice',
  },
  {
    ...CHAT,
    from: 'messages',
    sentence:
      "This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any and try again.",
    body: { max_tokens: 100, tools: NATIVE_TOOLS, tool_choice: { type: 'any' } },
    refused: '"required"',
    instead: ANY_CALL,
    dropped: 'tool_choice',
  },
]

/** How much a model is to think, and whether it shows that, where a model takes not all of the format. */
const THINKING: readonly Row[] = [
  {
    ...CLAUDE,
    sentence:
      '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and output_config.effort.',
    body: { reasoning_effort: 'none' },
    refused: '"disabled"',
    instead: '"effort":"low"',
    dropped: null,
  },
  {
    ...CLAUDE,
    from: 'messages',
    sentence: '"thinking.type.disabled" is not supported for this model.',
    body: { max_tokens: 100, thinking: { type: 'disabled' } },
    refused: '"disabled"',
    instead: '"effort":"low"',
    dropped: null,
  },
  {
    ...CLAUDE,
    sentence: "output_config.effort: Input should be 'low', 'medium', 'high' or 'max'",
    body: { reasoning_effort: 'xhigh' },
    refused: '"xhigh"',
    instead: '"effort":"high"',
    dropped: null,
  },
  {
    ...CLAUDE,
    from: 'messages',
    sentence: "This model's effort does not support 'xhigh'.",
    body: { max_tokens: 100, thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } },
    refused: '"xhigh"',
    instead: '"effort":"high"',
    dropped: null,
  },
  {
    ...CLAUDE,
    sentence: 'thinking.adaptive.display: Extra inputs are not permitted',
    body: { reasoning_effort: 'low' },
    refused: '"display"',
    instead: '"thinking":{"type":"adaptive"}',
    dropped: null,
  },
  {
    ...CLAUDE,
    from: 'messages',
    sentence: 'thinking.adaptive.display: Extra inputs are not permitted',
    body: { max_tokens: 4_000, thinking: { type: 'enabled', budget_tokens: 2_000 } },
    refused: '"display"',
    instead: '"thinking":{"type":"adaptive"}',
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
  stack = await startStack({
    catalog: turnCatalog(provider.url, { thinking: 'effort' }),
    limits: { refusedPartKeptMs: 1 },
  })
  apiKey = (await stack.createAccount()).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

describe('an option that a model refuses', () => {
  for (const one of [...ROWS, ...FORCES, ...THINKING]) {
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
    'Your request does not support the best effort mode',
    'logit_bias: value 200 is not allowed',
    "Unknown parameter: 'tools[0].logprobs'",
    'tools.0.foo: Extra inputs are not permitted, messages.0.cache_control: Field required',
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
