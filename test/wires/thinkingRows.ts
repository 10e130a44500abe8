/** The values of `thinking_member`. */
export const THINKING = [
  'reasoning_effort',
  'thinking',
  'thinking_off',
  'enable_thinking',
  'chat_template_kwargs',
  'reasoning',
  'none',
] as const
type Member = (typeof THINKING)[number]

/** What providers get that are told by each member: for an effort of none, and for the usual one. */
export const OFF: Readonly<Record<Member, object>> = {
  reasoning_effort: { reasoning_effort: 'none' },
  thinking: { thinking: { type: 'disabled' } },
  thinking_off: { thinking: { type: 'disabled' } },
  enable_thinking: { enable_thinking: false },
  chat_template_kwargs: { chat_template_kwargs: { enable_thinking: false, thinking: false } },
  reasoning: { reasoning: { enabled: false } },
  none: {},
}
export const ON: Readonly<Record<Member, object>> = {
  reasoning_effort: { reasoning_effort: 'medium' },
  thinking: { thinking: { type: 'enabled' } },
  thinking_off: { reasoning_effort: 'medium' },
  enable_thinking: { enable_thinking: true },
  chat_template_kwargs: { chat_template_kwargs: { enable_thinking: true, thinking: true } },
  reasoning: { reasoning: { effort: 'medium' } },
  none: {},
}

/** The spellings of a chat that say the same. */
export const SAID_OFF: readonly object[] = [
  { reasoning_effort: 'none' },
  { reasoning: { enabled: false } },
  { reasoning: { effort: 'none' } },
  { thinking: { type: 'disabled' } },
  { thinking: false },
  { enable_thinking: false },
  { chat_template_kwargs: { enable_thinking: false } },
  { chat_template_kwargs: { thinking: false } },
  { think: false },
  { thinking_budget: 0 },
  { extra_body: { enable_thinking: false } },
  { extra_body: { chat_template_kwargs: { enable_thinking: false } } },
]
export const SAID_ON: readonly object[] = [
  { reasoning_effort: 'medium' },
  { reasoning: { enabled: true } },
  { reasoning: { effort: 'medium' } },
  { reasoning: { max_tokens: 2_000 } },
  { thinking: { type: 'enabled', budget_tokens: 2_000 } },
  { enable_thinking: true },
  { chat_template_kwargs: { enable_thinking: true } },
  { think: true },
  { think: 'medium' },
]
