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
  {
    name: 'cached tokens as a member of its own',
    reports: [{ prompt_tokens: 801, completion_tokens: 2, total_tokens: 803, num_cached_tokens: 768 }],
    due: [801, 768, 0, 0, 2, 0],
  },
  {
    name: 'cached tokens in three places',
    reports: [
      {
        prompt_tokens: 801,
        completion_tokens: 2,
        total_tokens: 803,
        num_cached_tokens: 768,
        prompt_tokens_details: { cached_tokens: 768 },
        prompt_token_details: { cached_tokens: 768 },
      },
    ],
    due: [801, 768, 0, 0, 2, 0],
  },
  {
    name: 'details in the singular',
    reports: [
      {
        prompt_tokens: 500,
        completion_tokens: 40,
        prompt_token_details: { cached_tokens: 120 },
        completion_token_details: { reasoning_tokens: 9 },
      },
    ],
    due: [500, 120, 0, 0, 40, 9],
  },
  {
    name: 'names of Bedrock, whose input excludes the cache',
    reports: [
      {
        inputTokens: 50,
        outputTokens: 47,
        totalTokens: 1_197,
        cacheReadInputTokens: 900,
        cacheWriteInputTokens: 200,
      },
    ],
    due: [1_150, 900, 200, 0, 47, 0],
  },
  {
    name: 'names of Bedrock without a total',
    reports: [{ inputTokens: 50, outputTokens: 47, cacheReadInputTokens: 900, cacheWriteInputTokens: 0 }],
    due: [950, 900, 0, 0, 47, 0],
  },
  {
    name: 'counts of the metrics of Bedrock',
    reports: [{ inputTokenCount: 50, outputTokenCount: 47, cacheReadInputTokenCount: 900 }],
    due: [950, 900, 0, 0, 47, 0],
  },
  {
    name: 'names of Gemini, whose output excludes the thoughts',
    reports: [
      {
        promptTokenCount: 300,
        candidatesTokenCount: 40,
        thoughtsTokenCount: 60,
        cachedContentTokenCount: 128,
        totalTokenCount: 400,
        promptTokensDetails: [{ modality: 'TEXT', tokenCount: 300 }],
      },
    ],
    due: [300, 128, 0, 0, 100, 60],
  },
  {
    name: 'names of Gemini in snake case',
    reports: [{ prompt_token_count: 300, candidates_token_count: 40, total_token_count: 340 }],
    due: [300, 0, 0, 0, 40, 0],
  },
  {
    name: 'details of the AI SDK',
    reports: [
      {
        inputTokens: 300,
        outputTokens: 47,
        totalTokens: 347,
        inputTokenDetails: { noCacheTokens: 150, cacheReadTokens: 100, cacheWriteTokens: 50 },
        outputTokenDetails: { textTokens: 40, reasoningTokens: 7 },
      },
    ],
    due: [300, 100, 50, 0, 47, 7],
  },
  {
    name: 'Claude in camel case',
    reports: [
      {
        inputTokens: 30,
        outputTokens: 47,
        cacheReadInputTokens: 100,
        cacheCreationInputTokens: 60,
        cacheCreation: { ephemeral5mInputTokens: 20, ephemeral1hInputTokens: 40 },
      },
    ],
    due: [190, 100, 20, 40, 47, 0],
  },
]
