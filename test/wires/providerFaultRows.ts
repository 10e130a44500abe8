// Errors whose status does not say whose fault they are, as providers send them.
import { OURS, openai, type Row, THEIRS } from './providerErrorRows.ts'

const QUOTA = openai('You exceeded your current quota, SECRET', { code: 'insufficient_quota' })
const delayed = (retryDelay: string) =>
  openai('SECRET', { code: 'insufficient_quota', details: [{ '@type': 'RetryInfo', retryDelay }] })

/** The table. */
export const FAULT_ROWS: readonly Row[] = [
  {
    name: 'tokens by the minute, in words of a prompt that is too long',
    status: 429,
    body: { message: 'Too many tokens, please wait before trying again.' },
    code: 'rate_limited',
  },
  {
    name: 'tokens by the minute, with names of its own',
    status: 429,
    body: {
      message: 'Tokens per minute limit exceeded - too many tokens processed.',
      type: 'too_many_tokens_error',
      code: 'token_quota_exceeded',
    },
    code: 'rate_limited',
  },
  {
    name: 'tokens by the day',
    status: 429,
    body: { message: 'Too many tokens per day, please wait before trying again.' },
    code: 'rate_limited',
  },
  {
    name: 'a quota by the minute, in a sentence',
    status: 429,
    body: { error: { code: 429, message: 'You exceeded your current quota. Please retry in 7.2s.' } },
    code: 'rate_limited',
    retryAfter: 8,
  },
  // A quota that comes back within a minute is a rate; one that does not is money.
  ...(
    [
      ['insufficient_quota', QUOTA, { 'retry-after': '7' }],
      ['insufficient_quota, in milliseconds', QUOTA, { 'retry-after-ms': '6500' }],
      ['insufficient_quota, a fraction', QUOTA, { 'retry-after': '6.2' }],
      [
        'insufficient_quota as the type alone',
        openai('Slow down', { type: 'insufficient_quota' }),
        { 'retry-after': '7' },
      ],
      ['a current quota, in a sentence', openai('You exceeded your current quota, SECRET'), { 'retry-after': '7' }],
      [
        'a current quota, by its name',
        openai('SECRET', { type: 'exceeded_current_quota_error' }),
        { 'retry-after': '7' },
      ],
      ['insufficient_quota and a delay in the body', delayed('6.5s'), {}],
      ['insufficient_quota, a delay in the body and in the head', delayed('20s'), { 'retry-after': '7' }],
    ] as const
  ).map(
    ([name, body, headers]): Row => ({
      name: `a quota for now: ${name}`,
      status: 429,
      body,
      headers,
      code: 'rate_limited',
      retryAfter: 7,
    }),
  ),
  {
    name: 'a quota for a minute',
    status: 429,
    body: QUOTA,
    headers: { 'retry-after': '60' },
    code: 'rate_limited',
    retryAfter: 60,
  },
  ...(
    [
      ['no wait', 429, QUOTA, {}],
      ['a wait of nothing', 429, QUOTA, { 'retry-after': '0' }],
      ['a wait of an hour', 429, QUOTA, { 'retry-after': '3600' }],
      ['a wait in words', 429, QUOTA, { 'retry-after': 'soon' }],
      ['another status', 402, QUOTA, { 'retry-after': '7' }],
      ['no money and a short wait', 429, openai('SECRET', { code: 'insufficient_balance' }), { 'retry-after': '7' }],
      ['billing and a short wait', 429, openai('SECRET quota', { code: 'billing_not_active' }), { 'retry-after': '7' }],
      ['a suspension and a short wait', 403, { message: 'Your account SECRET is suspended' }, { 'retry-after': '7' }],
    ] as const
  ).map(([name, status, body, headers]): Row => ({ name: `no money: ${name}`, status, body, headers, ...OURS })),
  // The account or the route, with the status of a bad request.
  {
    name: 'a limit of usage at 400',
    status: 400,
    body: {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'You have reached your specified API usage limits SECRET.' },
    },
    code: 'upstream_unavailable',
  },
  {
    name: 'a restricted organization',
    status: 400,
    body: openai('SECRET', { code: 'organization_restricted' }),
    ...OURS,
  },
  { name: 'a budget that is spent', status: 400, body: openai('SECRET', { type: 'budget_exceeded' }), ...OURS },
  { name: 'a plan that has expired', status: 429, body: { error: { code: '1309', message: 'SECRET' } }, ...OURS },
  { name: 'no money at Zhipu', status: 429, body: { error: { code: '1113', message: '余额不足 SECRET' } }, ...OURS },
  {
    name: 'no money at MiniMax',
    status: 200,
    body: { base_resp: { status_code: 1008, status_msg: 'SECRET' } },
    ...OURS,
  },
  ...(
    [
      ['a model that is gone', openai('The model m SECRET has been decommissioned', { code: 'model_decommissioned' })],
      ['terms that nobody has accepted', openai('SECRET', { code: 'model_terms_required' })],
      [
        'a model that Mistral does not have',
        { object: 'error', message: 'Invalid model: SECRET', type: 'invalid_model' },
      ],
      [
        'a model that xAI does not have',
        { code: 'Client specified an invalid argument', error: 'Model not found: SECRET' },
      ],
      ['a model that Bedrock does not have', { message: 'The provided model identifier is invalid. SECRET' }],
      [
        'an organization that is not verified',
        openai('Your organization must be verified to stream this model. SECRET'),
      ],
      ['a country that is not served', [{ error: { code: 400, message: 'User location is not supported SECRET' } }]],
      ['a model that DeepSeek does not have', openai('Model Not Exist', { code: 'invalid_request_error' })],
      ['a model that SiliconFlow does not have', { code: 20012, message: 'Model does not exist. SECRET', data: null }],
      ['a model of Bedrock without a profile', { message: "Model SECRET with on-demand throughput isn't supported." }],
      ['an account of Bedrock that may not ask', { message: 'Operation not allowed' }],
      ['a call that Groq cannot read', openai('Failed to call a function. SECRET', { code: 'tool_use_failed' })],
      ['JSON that Groq cannot read', openai('Failed to generate JSON. SECRET', { code: 'json_validate_failed' })],
      ['a function out of order', { detail: 'Function SECRET: DEGRADED function cannot be invoked' }],
    ] as const
  ).map(([name, body]): Row => ({ name, status: 400, body, code: 'upstream_unavailable' })),
  {
    name: 'a request that the provider cancelled',
    status: 499,
    body: [{ error: { code: 499, message: 'The operation was cancelled.', status: 'CANCELLED' } }],
    code: 'upstream_unavailable',
  },
  {
    name: 'a method that is not allowed',
    status: 405,
    body: { detail: 'Method Not Allowed' },
    code: 'upstream_unavailable',
  },
  {
    name: 'no money of a provider behind a gateway that quotes it',
    status: 429,
    body: {
      error: {
        message: 'Provider returned error',
        code: 429,
        metadata: { raw: JSON.stringify(openai('SECRET', { code: 'insufficient_quota' })) },
      },
    },
    code: 'rate_limited',
  },
  // The request.
  {
    name: 'words of a missing model',
    status: 400,
    body: openai('Unknown tool choice: model not found in tools'),
    shown: /Unknown tool choice/,
    ...THEIRS,
  },
  {
    name: 'moderation at 403',
    status: 403,
    body: { error: { code: 403, message: 'Your input was flagged', metadata: { reasons: ['violence'] } } },
    shown: /input was flagged/,
    ...THEIRS,
  },
  {
    name: 'guidelines at 403',
    status: 403,
    body: { code: 'The caller does not have permission', error: 'Content violates usage guidelines. Failed check: X' },
    shown: /violates usage guidelines/,
    ...THEIRS,
  },
  {
    name: 'a bad request at MiniMax',
    status: 200,
    body: { base_resp: { status_code: 2013, status_msg: 'no x' } },
    shown: /no x/,
    ...THEIRS,
  },
  {
    name: 'a refusal at MiniMax',
    status: 200,
    body: { base_resp: { status_code: 1042, status_msg: 'no x' } },
    shown: /no x/,
    ...THEIRS,
  },
  ...(
    [
      ['Mistral', { object: 'error', message: { detail: [{ loc: ['body', 'y'], msg: 'no x' }] } }],
      ['DeepInfra', { detail: { error: 'no x' } }],
      ['OpenRouter', { error: { message: 'Provider returned error', code: 400, metadata: { raw: 'no x' } } }],
      [
        'OpenRouter, in an array',
        { error: { message: 'Provider returned error', metadata: { raw: '[{"error":{"message":"no x"}}]' } } },
      ],
    ] as const
  ).map(([name, body]): Row => ({ name: `a refusal at ${name}`, status: 422, body, shown: /no x/, ...THEIRS })),
  {
    name: 'an array of one error at 200',
    status: 200,
    body: [{ error: { code: 400, message: 'no x' } }],
    shown: /no x/,
    ...THEIRS,
  },
  {
    name: 'a status as a text',
    status: 200,
    body: { status: 'error', code: '400', message: 'no x' },
    shown: /no x/,
    ...THEIRS,
  },
  { name: 'a status in camel case', status: 200, body: { statusCode: 400, message: 'no x' }, shown: /no x/, ...THEIRS },
  ...(
    [
      ['Zhipu', { error: { code: '1261', message: 'Prompt exceeds max length' } }],
      ['DashScope', openai('Range of input length should be [1, 129024]')],
      ['Moonshot', openai('Your request exceeded model token limit: 131072')],
      ['vLLM', openai('The prompt is longer than the maximum model length of 4096')],
      ['a newer vLLM', openai("You passed 5000 input tokens. However, the model's context length is only 4096 tokens")],
      ['SGLang', openai('Input length (5000 tokens) exceeds the maximum allowed length (4096 tokens).')],
      ['TGI', { error: 'Input validation error: `inputs` must have less than 4096 tokens. Given: 5000' }],
      ['Ollama', { error: { message: 'the input length exceeds the context length', type: 'api_error' } }],
      ['LM Studio', { error: 'The model is loaded with context length of only 4096 tokens, which is not enough.' }],
      ['LM Studio, in words', { error: 'The number of tokens to keep is greater than the context length.' }],
      ['SiliconFlow', { code: 20015, message: 'number of input tokens (9) has exceeded max_prompt_tokens (8) limit.' }],
      ['others', openai('tokens in request more than max tokens allowed')],
      ['Copilot', openai('prompt token count of 9 exceeds the limit of 8')],
      [
        'GitHub',
        { error: { code: 'tokens_limit_reached', message: 'Request body too large. Max size: 8000 tokens.' } },
      ],
      ['OpenRouter, as a sentence', { error: { message: 'x', metadata: { raw: 'Input is too long for the model.' } } }],
      [
        'OpenRouter',
        {
          error: {
            code: 400,
            message: 'Provider returned error',
            metadata: { raw: JSON.stringify(openai('prompt is too long')) },
          },
        },
      ],
    ] as const
  ).map(
    ([name, body]): Row => ({
      name: `a full context at ${name}`,
      status: 400,
      body,
      code: 'context_length_exceeded',
      isFinal: true,
    }),
  ),
  {
    name: 'a full context, as a sentence at 200',
    status: 200,
    body: { error: 'the input length exceeds the context length' },
    code: 'context_length_exceeded',
    isFinal: true,
  },
]
