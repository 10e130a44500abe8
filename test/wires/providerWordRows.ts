// Errors that only their sentence, or a name of one provider, tells apart.
import { OURS, openai, type Row, THEIRS } from './providerErrorRows.ts'

/** The table. */
export const WORD_ROWS: readonly Row[] = [
  {
    name: 'tokens by the minute, with the name for an empty account',
    status: 429,
    body: openai('Allocated quota exceeded, please increase your quota limit.', { code: 'insufficient_quota' }),
    code: 'rate_limited',
  },
  ...(
    [
      ['no model of this id', openai('foo/bar is not a valid model ID')],
      ['a model that is unknown', openai('no', { code: 'unknown_model' })],
      ['a model that is not available', openai('no', { code: 'unavailable_model' })],
      ['an invalid model name', openai('Invalid model name passed in model=x. Call /v1/models')],
      ['no such model', { errors: [{ code: 5007, message: 'AiError: No such model x' }] }],
    ] as const
  ).map(([name, body]): Row => ({ name: `${name}, at 400`, status: 400, body, code: 'upstream_unavailable' })),
  ...(
    [
      [400, 'Unable to submit request because the input token count is 1251952 but model only supports up to 1048576.'],
      [400, 'max_tokens must be at least 1, got -46771.'],
      [500, 'Context size has been exceeded.'],
      [400, 'Prompt length (200) exceeds maximum input length (1)'],
      [400, 'prompt_token_ids length (2000) is greater than max_seq_len (1000)'],
    ] as const
  ).map(
    ([status, message]): Row => ({
      name: `a full context: ${message}`,
      status,
      body: openai(message),
      code: 'context_length_exceeded',
      isFinal: true,
    }),
  ),
  {
    name: 'a max_tokens of the client below 1',
    status: 400,
    body: openai('max_tokens must be at least 1, got -1.'),
    ...THEIRS,
  },
  {
    name: 'the sentence beside the name of its status',
    status: 400,
    body: { statusCode: 400, error: 'Bad Request', message: 'SENTENCE' },
    shown: /SENTENCE/,
    ...THEIRS,
  },
  {
    name: 'the name of its status beside the sentence',
    status: 400,
    body: { error: "This model's maximum context length is 4096 tokens.", message: 'Bad Request' },
    code: 'context_length_exceeded',
    isFinal: true,
  },
  {
    name: 'no route for images',
    status: 404,
    body: openai('No endpoints found that support image input'),
    code: 'upstream_unavailable',
  },
  { name: 'an error in a list', status: 400, body: { error: [{ message: 'SENTENCE' }] }, shown: /SENTENCE/, ...THEIRS },
  {
    name: 'depleted credits, at the status of a rate',
    status: 429,
    body: { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'Your prepayment credits are depleted.' } },
    ...OURS,
  },
  {
    name: 'an insufficient balance',
    status: 403,
    body: { message: 'Sorry, your account balance is insufficient' },
    ...OURS,
  },
  {
    name: 'a bad request at 200, with its status as a text',
    status: 200,
    body: { type: 'error', error: { type: 'bad_request_error', message: 'SENTENCE', http_code: '400' } },
    shown: /SENTENCE/,
    ...THEIRS,
  },
]
