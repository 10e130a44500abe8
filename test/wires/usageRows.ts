import type { Counts } from './usageCounts.ts'

export type Report = Readonly<Record<string, unknown>>

/** A provider's reports of one answer, and what they come to. */
export interface Row {
  readonly name: string
  readonly dialect?: 'anthropic'
  /** The provider's output is what the total has beside the prompt. */
  readonly fromTotal?: true
  /** Each is sent in an event of its own; an answer in one piece has the last one, or all members of all. */
  readonly reports: readonly Report[]
  /** Where the report is; default beside the choices. */
  readonly place?: 'choice' | 'delta' | 'x_groq' | 'x_groq beside null' | 'last choice'
  /** What the provider bills: prompt, cached, written for 5 minutes and for an hour, output, reasoning; null is estimated. */
  readonly due: Counts
  /** The charge of the answer in one piece, which has no earlier report. */
  readonly whole?: Counts
}

/** A report in the words of chat completions. */
export const openai = (prompt: number, output: number, more: Report = {}): Report => ({
  prompt_tokens: prompt,
  completion_tokens: output,
  ...more,
})
const reasoned = (tokens: number): Report => ({ completion_tokens_details: { reasoning_tokens: tokens } })
const claude = (input: number, output: number, more: Report = {}): Report => ({
  input_tokens: input,
  output_tokens: output,
  ...more,
})

/** The table; `usageSumRows.ts` has more. */
export const ROWS: readonly Row[] = [
  // Whether reasoning is a part of the output is decided by the total.
  {
    name: 'reasoning beside the output',
    reports: [
      openai(10120, 1499, { total_tokens: 14428, prompt_tokens_details: { cached_tokens: 128 }, ...reasoned(2809) }),
    ],
    due: [10120, 128, 0, 0, 4308, 2809],
  },
  {
    name: 'reasoning inside the output',
    reports: [openai(10120, 4308, { total_tokens: 14428, ...reasoned(2809) })],
    due: [10120, 0, 0, 0, 4308, 2809],
  },
  {
    name: 'reasoning beside the output without any text',
    reports: [openai(100, 0, { total_tokens: 150, ...reasoned(50) })],
    due: [100, 0, 0, 0, 50, 50],
  },
  {
    name: 'reasoning without a total',
    reports: [openai(100, 60, reasoned(40))],
    due: [100, 0, 0, 0, 60, 40],
  },
  {
    name: 'reasoning beside the output in the spelling of responses',
    reports: [
      { input_tokens: 200, output_tokens: 30, total_tokens: 330, output_tokens_details: { reasoning_tokens: 100 } },
    ],
    due: [200, 0, 0, 0, 130, 100],
  },
  // Contradictions are charged as they are stated.
  {
    name: 'a total above all counts',
    reports: [openai(20, 198, { total_tokens: 623 })],
    due: [20, 0, 0, 0, 198, 0],
  },
  {
    name: 'more cached tokens than the prompt has',
    reports: [openai(100, 5, { prompt_tokens_details: { cached_tokens: 900 } })],
    due: [100, 100, 0, 0, 5, 0],
  },
  // A provider whose total alone has all that it bills.
  {
    name: 'thinking that is in the total alone',
    fromTotal: true,
    reports: [openai(20, 198, { total_tokens: 623 })],
    due: [20, 0, 0, 0, 603, 405],
  },
  {
    name: 'thinking in the total and in the details',
    fromTotal: true,
    reports: [openai(20, 198, { total_tokens: 623, ...reasoned(405) })],
    due: [20, 0, 0, 0, 603, 405],
  },
  {
    name: 'a total with less thinking than the details',
    fromTotal: true,
    reports: [openai(100, 50, { total_tokens: 170, ...reasoned(60) })],
    due: [100, 0, 0, 0, 70, 60],
  },
  {
    name: 'a total below its counts',
    fromTotal: true,
    reports: [openai(20, 198, { total_tokens: 100 })],
    due: [20, 0, 0, 0, 198, 0],
  },
  {
    name: 'no total of one that has all',
    fromTotal: true,
    reports: [openai(20, 198, reasoned(50))],
    due: [20, 0, 0, 0, 198, 50],
  },
  {
    name: 'a total with cached tokens inside',
    fromTotal: true,
    reports: [openai(1000, 100, { total_tokens: 1500, prompt_tokens_details: { cached_tokens: 400 } })],
    due: [1000, 400, 0, 0, 500, 400],
  },
  {
    name: 'a total beside cached tokens',
    fromTotal: true,
    reports: [{ input_tokens: 600, cache_read_input_tokens: 400, output_tokens: 100, total_tokens: 1500 }],
    due: [1000, 400, 0, 0, 500, 400],
  },
  {
    name: 'a total on every chunk',
    fromTotal: true,
    reports: [openai(20, 1, { total_tokens: 100 }), openai(20, 198, { total_tokens: 623 })],
    due: [20, 0, 0, 0, 603, 405],
  },
  // A later report of zeros replaces nothing.
  {
    name: 'a usage of zeros after one',
    reports: [openai(100, 3), openai(0, 0)],
    due: [100, 0, 0, 0, 3, 0],
    whole: [0, 0, 0, 0, 0, 0],
  },
  {
    name: 'a later output of 0',
    reports: [openai(100, 30), openai(100, 0)],
    due: [100, 0, 0, 0, 30, 0],
    whole: [100, 0, 0, 0, 0, 0],
  },
  {
    name: 'a later report without the cache',
    reports: [openai(1000, 3, { prompt_tokens_details: { cached_tokens: 800 } }), openai(1000, 9)],
    due: [1000, 800, 0, 0, 9, 0],
    whole: [1000, 0, 0, 0, 9, 0],
  },
  { name: 'snapshots', reports: [openai(100, 1), openai(100, 2), openai(100, 3)], due: [100, 0, 0, 0, 3, 0] },
  { name: 'zeros before the report', reports: [openai(0, 0), openai(120, 8)], due: [120, 0, 0, 0, 8, 0] },
  { name: 'nothing but zeros', reports: [openai(0, 0)], due: [0, 0, 0, 0, 0, 0] },
  {
    name: 'zeros at the end of messages',
    dialect: 'anthropic',
    reports: [claude(27, 1, { cache_read_input_tokens: 200 }), claude(0, 47, { cache_read_input_tokens: 0 })],
    due: [227, 200, 0, 0, 47, 0],
    whole: [null, 0, 0, 0, 47, 0],
  },
  {
    name: 'an input of 0 at the end of messages',
    dialect: 'anthropic',
    reports: [claude(1000, 1, { cache_read_input_tokens: 800 }), claude(0, 50)],
    due: [1800, 800, 0, 0, 50, 0],
    whole: [800, 800, 0, 0, 50, 0],
  },
  {
    name: 'cache members of 0 at the end of messages',
    dialect: 'anthropic',
    reports: [
      claude(1000, 1, { cache_read_input_tokens: 800, cache_creation_input_tokens: 40 }),
      claude(1000, 50, { cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }),
    ],
    due: [1840, 800, 40, 0, 50, 0],
    whole: [1000, 0, 0, 0, 50, 0],
  },
  {
    name: 'tokens that move to the cache',
    dialect: 'anthropic',
    reports: [claude(5000, 1), claude(100, 60, { cache_read_input_tokens: 4900 })],
    due: [5000, 4900, 0, 0, 60, 0],
  },
  {
    name: 'writes that move to five minutes',
    dialect: 'anthropic',
    reports: [
      claude(10, 1, { cache_creation_input_tokens: 463, cache_creation: { ephemeral_1h_input_tokens: 463 } }),
      claude(10, 9, {
        cache_creation_input_tokens: 463,
        cache_creation: { ephemeral_5m_input_tokens: 463, ephemeral_1h_input_tokens: 0 },
      }),
    ],
    due: [473, 0, 463, 0, 9, 0],
  },
  {
    name: 'zeros at the start of messages',
    dialect: 'anthropic',
    reports: [claude(0, 0), claude(50, 70)],
    due: [50, 0, 0, 0, 70, 0],
  },
  {
    name: 'an output alone in messages',
    dialect: 'anthropic',
    reports: [{}, { output_tokens: 50 }],
    due: [null, 0, 0, 0, 50, 0],
  },
  {
    name: 'thinking of messages',
    dialect: 'anthropic',
    reports: [claude(30, 1), claude(30, 90, { output_tokens_details: { thinking_tokens: 60 } })],
    due: [30, 0, 0, 0, 90, 60],
  },
  {
    name: 'a total of messages that counts the cache as input',
    dialect: 'anthropic',
    reports: [{}, claude(1000, 50, { cache_read_input_tokens: 800, total_tokens: 1050 })],
    due: [1000, 800, 0, 0, 50, 0],
  },
  // Cached and written tokens have many names.
  {
    name: 'cached tokens at the top',
    reports: [openai(1000, 8, { cached_tokens: 900 })],
    due: [1000, 900, 0, 0, 8, 0],
  },
  {
    name: 'cached tokens in both places, one of them 0',
    reports: [openai(1000, 8, { cached_tokens: 900, prompt_tokens_details: { cached_tokens: 0 } })],
    due: [1000, 900, 0, 0, 8, 0],
  },
  {
    name: 'a hit of the cache',
    reports: [openai(1000, 8, { prompt_cache_hit_tokens: 700, prompt_cache_miss_tokens: 300 })],
    due: [1000, 700, 0, 0, 8, 0],
  },
  {
    name: 'the names of messages within a prompt',
    reports: [openai(1000, 8, { total_tokens: 1008, cache_read_input_tokens: 600, cache_creation_input_tokens: 100 })],
    due: [1000, 600, 100, 0, 8, 0],
  },
  {
    name: 'the names of messages beside a prompt',
    reports: [openai(300, 8, { total_tokens: 1008, cache_read_input_tokens: 600, cache_creation_input_tokens: 100 })],
    due: [1000, 600, 100, 0, 8, 0],
  },
  {
    name: 'written tokens among the details',
    reports: [openai(500, 8, { prompt_tokens_details: { cached_tokens: 100, cache_creation_tokens: 200 } })],
    due: [500, 100, 200, 0, 8, 0],
  },
  {
    name: 'the names of responses',
    reports: [{ input_tokens: 500, output_tokens: 8, input_tokens_details: { cached_tokens: 100 } }],
    due: [500, 100, 0, 0, 8, 0],
  },
  {
    name: 'both names, one of them 0',
    reports: [openai(500, 8, { input_tokens: 0, output_tokens: 0, input_tokens_details: null })],
    due: [500, 0, 0, 0, 8, 0],
  },
  {
    name: 'the names of messages at chat',
    reports: [claude(27, 47, { cache_read_input_tokens: 200 })],
    due: [227, 200, 0, 0, 47, 0],
  },
  // Usage in other places.
  {
    name: 'usage in the choice',
    place: 'choice',
    reports: [openai(1000, 50, { cached_tokens: 800 })],
    due: [1000, 800, 0, 0, 50, 0],
  },
  { name: 'usage in x_groq', place: 'x_groq', reports: [openai(190, 130)], due: [190, 0, 0, 0, 130, 0] },
  {
    name: 'usage in x_groq, and null where it is looked for first',
    place: 'x_groq beside null',
    reports: [openai(190, 130)],
    due: [190, 0, 0, 0, 130, 0],
  },
  {
    name: 'usage in the last of several choices',
    place: 'last choice',
    reports: [openai(90, 30)],
    due: [90, 0, 0, 0, 30, 0],
  },
  // What is broken is left out, and the rest is read by itself.
  { name: 'no prompt', reports: [openai(0, 47)], due: [null, 0, 0, 0, 47, 0] },
  { name: 'a negative prompt', reports: [openai(-3, 47)], due: [null, 0, 0, 0, 47, 0] },
  { name: 'an output alone', reports: [{ completion_tokens: 47 }], due: [null, 0, 0, 0, 47, 0] },
  { name: 'a prompt alone', reports: [{ prompt_tokens: 300 }], due: [300, 0, 0, 0, null, 0] },
  { name: 'a fractional output', reports: [openai(300, 4.5)], due: [300, 0, 0, 0, null, 0] },
  {
    name: 'negative cached tokens',
    reports: [openai(300, 4, { prompt_tokens_details: { cached_tokens: -1 } })],
    due: [300, 0, 0, 0, 4, 0],
  },
  {
    name: 'a negative input at the end of messages',
    dialect: 'anthropic',
    reports: [claude(27, 1), claude(-3, 47)],
    due: [27, 0, 0, 0, 47, 0],
    whole: [null, 0, 0, 0, 47, 0],
  },
]
