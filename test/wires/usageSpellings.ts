import type { Row } from './usageRows.ts'

/** Reports with counts as text, under the names of other formats, or in a place of their own. */
export const SPELLINGS: readonly Row[] = [
  {
    name: 'counts as text',
    reports: [{ prompt_tokens: '300', completion_tokens: '47', total_tokens: '347' }],
    due: [300, 0, 0, 0, 47, 0],
  },
  {
    name: 'texts that are no counts',
    reports: [{ prompt_tokens: '300', completion_tokens: 'many' }],
    due: [300, 0, 0, 0, null, 0],
  },
  {
    name: 'names of the AI SDK',
    reports: [{ promptTokens: 300, completionTokens: 47, totalTokens: 347 }],
    due: [300, 0, 0, 0, 47, 0],
  },
  {
    name: 'newer names of the AI SDK',
    reports: [{ inputTokens: 300, outputTokens: 47, totalTokens: 347, reasoningTokens: 7, cachedInputTokens: 100 }],
    due: [300, 100, 0, 0, 47, 7],
  },
  {
    name: 'usage in the delta',
    place: 'delta',
    reports: [{ prompt_tokens: 90, completion_tokens: 30 }],
    due: [90, 0, 0, 0, 30, 0],
  },
]
