// Demands that some models refuse, and what they are asked in their place: sentences of providers, as their users have reported them.
export interface Row {
  readonly sentence: string
  readonly from: 'chat/completions' | 'messages' | 'responses'
  readonly to: 'openai' | 'anthropic' | 'thinks'
  readonly body: object
  /** What the provider refuses, in the JSON of its request. */
  readonly refused: string
  readonly dropped: string | null
  /** What the provider gets in place of it. */
  readonly instead?: string
}

export const TOOLS = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]
export const CHAT = { from: 'chat/completions', to: 'openai' } as const

export const CLAUDE = { from: 'chat/completions', to: 'anthropic' } as const
const FORCED = 'tool_choice: type "tool" and "any" are not supported for this model.'
export const NATIVE_TOOLS = [{ name: 'f', input_schema: { type: 'object' } }]
const ANY_CALL = 'Answer by calling one of the tools.'
const CALL = 'Answer by calling the tool f.'

/** Packages that want a structured answer force a call; current models think, and take no force. */
export const FORCES: readonly Row[] = [
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

/** Whether documents are cited, and the words of further providers. */
export const OTHERS: readonly Row[] = [
  {
    ...CLAUDE,
    from: 'messages',
    sentence: 'Citations cannot be enabled when output format is set.',
    body: {
      max_tokens: 100,
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'document',
              source: { type: 'text', media_type: 'text/plain', data: 'd' },
              citations: { enabled: true },
            },
          ],
        },
      ],
      output_config: {
        format: { type: 'json_schema', schema: { type: 'object', properties: {}, additionalProperties: false } },
      },
    },
    refused: '"citations"',
    dropped: null,
  },
  {
    ...CLAUDE,
    sentence: "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
    body: { reasoning_effort: 'xhigh' },
    refused: '"xhigh"',
    instead: '"effort":"high"',
    dropped: null,
  },
  {
    ...CLAUDE,
    sentence: 'output_config.effort "xhigh" is not supported by model claude; supported values: [medium]',
    body: { reasoning_effort: 'xhigh' },
    refused: '"xhigh"',
    instead: '"effort":"high"',
    dropped: null,
  },
  {
    ...CLAUDE,
    sentence: 'level "max" not supported, valid levels: low, medium, high',
    body: { reasoning_effort: 'max' },
    refused: '"max"',
    instead: '"effort":"high"',
    dropped: null,
  },
  {
    ...CLAUDE,
    sentence: 'thinking: unknown field `display`, expected one of `type`, `budget_tokens`',
    body: { reasoning_effort: 'low' },
    refused: '"display"',
    instead: '"thinking":{"type":"adaptive"}',
    dropped: null,
  },
  {
    ...CHAT,
    sentence: 'tool_choice is not supported',
    body: { tools: TOOLS, tool_choice: 'auto' },
    refused: '"tool_choice"',
    dropped: 'tool_choice',
  },
]

/** How much a model is to think, and whether it shows that, where a model takes not all of the format. */
export const THINKING: readonly Row[] = [
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
