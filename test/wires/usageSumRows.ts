import { openai, type Row } from './usageRows.ts'

/** Reports whose sums and lifetimes are found only in other members than the counts themselves. */
export const SUM_ROWS: readonly Row[] = [
  // The cache beside the prompt, and an output that only the total shows.
  {
    name: 'more written tokens than the prompt has, whatever the total says',
    reports: [
      openai(31, 467, {
        total_tokens: 498,
        prompt_tokens_details: { cached_tokens: 0 },
        cache_creation_input_tokens: 1253,
        cache_read_input_tokens: 0,
      }),
    ],
    due: [1284, 0, 1253, 0, 467, 0],
  },
  {
    name: 'more cached tokens than the prompt has, under the name of another format',
    reports: [openai(100, 50, { total_tokens: 150, cache_read_input_tokens: 900 })],
    due: [1000, 900, 0, 0, 50, 0],
  },
  {
    name: 'an output that only the total shows',
    reports: [{ prompt_tokens: 10, total_tokens: 2010 }],
    due: [10, 0, 0, 0, 2000, 0],
  },
  {
    name: 'writes for an hour among details of details',
    reports: [
      openai(1000, 5, {
        prompt_tokens_details: {
          cache_creation_tokens: 900,
          cache_creation_token_details: { ephemeral_1h_input_tokens: 900 },
        },
      }),
    ],
    due: [1000, 0, 0, 900, 5, 0],
  },
  {
    name: 'writes for an hour in the names of New API',
    reports: [
      openai(1000, 5, {
        prompt_tokens_details: { cached_creation_tokens: 900 },
        claude_cache_creation_1_h_tokens: 900,
      }),
    ],
    due: [1000, 0, 0, 900, 5, 0],
  },
]
