// Members that servers with a schema of their own do not know: sentences of providers, as their users have reported them (Claude Code
// 27065, openclaw 72183, copilot-api 11, litellm 22797).
import { CHAT, CLAUDE, NATIVE_TOOLS, type Row, TOOLS } from './demandRows.ts'

const EAGER = { ...NATIVE_TOOLS[0], eager_input_streaming: true }
const STRICT = [{ type: 'function', function: { ...TOOLS[0]?.function, strict: true } }]

/** Claude Code streams the arguments of its tools early, and SDKs ask for strict ones; Copilot, Bedrock and others refuse both. */
export const TOOL_MEMBERS: readonly Row[] = [
  {
    ...CLAUDE,
    from: 'messages',
    sentence: 'tools.0.custom.eager_input_streaming: Extra inputs are not permitted',
    body: { max_tokens: 100, tools: [EAGER] },
    refused: '"eager_input_streaming"',
    instead: '"tools":[{"name":"f","input_schema":',
    dropped: null,
  },
  {
    ...CLAUDE,
    from: 'messages',
    sentence: 'tools.12.custom.strict: Extra inputs are not permitted',
    body: { max_tokens: 100, tools: [{ ...NATIVE_TOOLS[0], strict: true }] },
    refused: '"strict"',
    dropped: null,
  },
  {
    ...CLAUDE,
    from: 'messages',
    sentence: "Extra inputs are not permitted, field: 'tools[0].custom.eager_input_streaming', value: True",
    body: { max_tokens: 100, tools: [EAGER, ...NATIVE_TOOLS.map((tool) => ({ ...tool, name: 'g' }))] },
    refused: '"eager_input_streaming"',
    dropped: null,
  },
  {
    ...CHAT,
    sentence: "Unknown parameter: 'tools[0].function.strict'.",
    body: { tools: STRICT },
    refused: '"strict"',
    instead: '"tools":[{"type":"function","function":{"name":"f",',
    dropped: null,
  },
  {
    ...CHAT,
    sentence:
      "[{'type': 'extra_forbidden', 'loc': ('body', 'tools', 0, 'function', 'strict'), 'msg': 'Extra inputs are not permitted'",
    body: { tools: STRICT },
    refused: '"strict"',
    dropped: null,
  },
  {
    ...CHAT,
    from: 'messages',
    sentence: 'body.tools.0.function.strict: property is unsupported',
    body: { max_tokens: 100, tools: [{ ...NATIVE_TOOLS[0], strict: true }] },
    refused: '"strict"',
    dropped: null,
  },
]

const CODEX = { from: 'responses', to: 'openai' } as const
const KEY = { input: 'hi', prompt_cache_key: 'thread-1' }

/** Members that have no effect on the meaning of an answer, and that Codex, opencode and SDKs send by themselves. */
export const HINTS: readonly Row[] = [
  {
    ...CODEX,
    sentence: 'Invalid JSON payload received. Unknown name "prompt_cache_key": Cannot find field.',
    body: KEY,
    refused: '"prompt_cache_key"',
    dropped: 'prompt_cache_key',
  },
  {
    ...CODEX,
    sentence: "property 'prompt_cache_key' is unsupported",
    body: KEY,
    refused: '"prompt_cache_key"',
    dropped: 'prompt_cache_key',
  },
  {
    ...CHAT,
    sentence:
      "[{'type': 'extra_forbidden', 'loc': ('body', 'safety_identifier'), 'msg': 'Extra inputs are not permitted'",
    body: { safety_identifier: 'u1' },
    refused: '"safety_identifier"',
    dropped: 'safety_identifier',
  },
  {
    ...CHAT,
    sentence: "Extra inputs are not permitted, field: 'verbosity', value: 'low'",
    body: { verbosity: 'low', user: 'u1' },
    refused: '"verbosity"',
    dropped: 'verbosity, user',
  },
  {
    ...CHAT,
    sentence: "Unknown parameter: 'user'.",
    body: { user: 'u1' },
    refused: '"user":',
    dropped: 'user',
  },
  {
    ...CHAT,
    sentence: 'reasoning_effort: Extra inputs are not permitted',
    body: { reasoning_effort: 'low' },
    refused: '"reasoning_effort"',
    dropped: 'reasoning_effort',
  },
  {
    ...CLAUDE,
    from: 'messages',
    sentence: '#: extraneous key [output_config] is not permitted, please reformat your input and try again.',
    body: { max_tokens: 2_000, output_config: { effort: 'high' } },
    refused: '"output_config"',
    dropped: null,
  },
]
