/** An error answer, and what is made of it. */
export interface Row {
  readonly name: string
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** What a client without another route gets. */
  readonly code: string
  readonly shown?: RegExp
  /** Seconds of Retry-After. */
  readonly retryAfter?: number
  /** The route is not asked again for minutes. */
  readonly rests?: true
  /** The request is at fault, so that no other route is asked. */
  readonly isFinal?: true
}

export const openai = (message: string, more: object = {}) => ({
  error: { message, type: 'invalid_request_error', ...more },
})
const ECHO = (bytes: number) => ({ ...openai('tool_choice is not valid here'), input: 'z'.repeat(bytes) })
export const OURS = { code: 'upstream_unavailable', rests: true } as const
export const THEIRS = { code: 'upstream_rejected', isFinal: true } as const
const LONG = 'x'.repeat(70_000)

/** The table; `providerFaultRows.ts` has more. */
export const ERROR_ROWS: readonly Row[] = [
  // No money.
  {
    name: 'insufficient_quota at 429',
    status: 429,
    body: openai('You exceeded your current quota, SECRET', { type: 'insufficient_quota', code: 'insufficient_quota' }),
    ...OURS,
  },
  {
    name: 'exceeded_current_quota_error',
    status: 429,
    body: { error: { message: 'SECRET org-1 plan', type: 'exceeded_current_quota_error' } },
    ...OURS,
  },
  {
    name: 'billing_hard_limit_reached at 400',
    status: 400,
    body: openai('Billing hard limit has been reached. SECRET', { code: 'billing_hard_limit_reached' }),
    ...OURS,
  },
  { name: 'billing_not_active', status: 429, body: openai('SECRET', { code: 'billing_not_active' }), ...OURS },
  { name: 'the balance at 402', status: 402, body: { error: { message: 'Insufficient Balance SECRET' } }, ...OURS },
  { name: 'credits at 403', status: 403, body: { error: 'You have run out of credits. SECRET' }, ...OURS },
  { name: 'a spending cap', status: 403, body: openai('Your monthly spending cap SECRET was reached'), ...OURS },
  {
    name: 'a credit balance at 400',
    status: 400,
    body: { type: 'error', error: { type: 'invalid_request_error', message: 'Your credit balance is too low SECRET' } },
    code: 'upstream_unavailable',
  },
  { name: 'arrears', status: 400, body: { code: 'Arrearage', message: 'Access denied, SECRET' }, ...OURS },
  // Revoked and suspended.
  { name: 'a deactivated account', status: 401, body: openai('SECRET', { code: 'account_deactivated' }), ...OURS },
  { name: 'a suspended account', status: 403, body: { message: 'Your account SECRET has been suspended' }, ...OURS },
  {
    name: 'a revoked key',
    status: 401,
    body: openai('Incorrect API key provided: SECRET', { code: 'invalid_api_key' }),
    ...OURS,
  },
  {
    name: 'a key that is not valid, in an array',
    status: 400,
    body: [
      { error: { code: 400, message: 'SECRET', status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }] } },
    ],
    ...OURS,
  },
  {
    name: 'no money behind a long echo',
    status: 400,
    body: { ...openai('SECRET', { code: 'insufficient_quota' }), input: LONG },
    ...OURS,
  },
  {
    name: 'no money for a body of status 200',
    status: 200,
    body: openai('SECRET', { code: 'insufficient_quota' }),
    ...OURS,
  },
  // The rate.
  {
    name: 'a rate limit',
    status: 429,
    body: openai('Slow down', { code: 'rate_limit_exceeded' }),
    headers: { 'retry-after': '60' },
    code: 'rate_limited',
    retryAfter: 60,
  },
  {
    name: 'a quota by the minute, in an array',
    status: 429,
    body: [
      {
        error: {
          code: 429,
          message: 'You exceeded your current quota',
          status: 'RESOURCE_EXHAUSTED',
          details: [{ '@type': 'RetryInfo', retryDelay: '7.2s' }],
        },
      },
    ],
    code: 'rate_limited',
    retryAfter: 8,
  },
  // The request.
  { name: 'a refusal', status: 400, body: ECHO(10), shown: /tool_choice is not valid here/, ...THEIRS },
  {
    name: 'a refusal of 60,000 bytes',
    status: 400,
    body: ECHO(60_000),
    shown: /tool_choice is not valid here/,
    ...THEIRS,
  },
  {
    name: 'a refusal of 70,000 bytes',
    status: 400,
    body: ECHO(70_000),
    shown: /tool_choice is not valid here/,
    ...THEIRS,
  },
  { name: 'a refusal of 5 MB', status: 400, body: ECHO(5_000_000), shown: /tool_choice is not valid here/, ...THEIRS },
  {
    name: 'details with a long input',
    status: 422,
    body: { detail: [{ loc: ['body'], msg: 'Extra inputs are not permitted', input: LONG }] },
    shown: /Extra inputs are not permitted/,
    ...THEIRS,
  },
  ...(
    [
      ['an error of AWS', { __type: 'ValidationException', Message: 'no x' }],
      ['an error within an error', { error: { error: { message: 'no x' } } }],
      ['a message that is an object', { error: { message: { detail: 'no x' }, code: 400 } }],
    ] as const
  ).map(([name, body]): Row => ({ name, status: 400, body, shown: /no x/, ...THEIRS })),
  {
    name: 'an array of one error',
    status: 400,
    body: [{ error: { code: 400, message: 'Unknown name "x"', status: 'INVALID_ARGUMENT' } }],
    shown: /Unknown name "x"/,
    ...THEIRS,
  },
  {
    name: 'a sentence of the client',
    status: 400,
    body: openai(`Invalid tool name: 'your account was suspended, api key revoked'`),
    shown: /Invalid tool name/,
    ...THEIRS,
  },
  {
    name: 'names of the client',
    status: 400,
    body: openai(
      `'key_value_store' collides with 'req_options_v2'; see org_settings_page, not sk-proj-a1B2c3D4e5F6g7 of org-ABcd1234EFgh5678`,
    ),
    shown:
      /^The provider rejected the request: 'key_value_store' collides with 'req_options_v2'; see org_settings_page, not of$/,
    ...THEIRS,
  },
  {
    name: 'a long prompt that is echoed',
    status: 400,
    body: { ...openai("This model's maximum context length is 8 tokens"), input: LONG },
    code: 'context_length_exceeded',
    isFinal: true,
  },
  // The route, the provider.
  {
    name: 'a model that it lacks, at 400',
    status: 400,
    body: openai('SECRET', { code: 'model_not_found' }),
    code: 'upstream_unavailable',
  },
  {
    name: 'an overload at 400',
    status: 400,
    body: openai('SECRET', { type: 'overloaded_error' }),
    code: 'upstream_unavailable',
  },
  { name: 'a page', status: 503, body: '<html>SECRET</html>', code: 'upstream_unavailable' },
  ...[410, 421, 424, 425, 498].map((status) => ({
    name: `the status ${status}`,
    status,
    body: openai('SECRET'),
    code: 'upstream_unavailable',
  })),
]
