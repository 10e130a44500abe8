/** Headers of clients, by name; OpenAPI shows each with the operations that read it. */
export const REQUEST_HEADERS = {
  'Idempotency-Key': 'The same request with the same key is done once within 24 hours',
  'x-approval-id': "The approval of an agent's owner by which the request runs",
  'x-sluice-tags': 'Tags of the request as name=value, joined by commas; percent-encoded where needed',
  'If-None-Match': 'The entity tags of answers that the client has',
  'PAYMENT-SIGNATURE':
    'An x402 payment for the quote of the 402 answer, as base64 of JSON; MPP sends Authorization: Payment instead',
  'x-erc8004-agent': 'The ERC-8004 agent behind the payment: its id, or eip155:CHAIN:REGISTRY:ID',
} as const

/** Headers of answers, by name. */
export const RESPONSE_HEADERS = {
  'x-request-id': 'The id of the request, which is also the id of its receipt; request-id has the same value',
  'x-cost-units': 'The cost of an answer that is not streamed, in units of 1e-9 USD',
  'x-served-model':
    'The model that served a request which several might have, by `models` of the request or `fallbacks` of the catalog',
  'x-dropped-parameters':
    'The members of the request that its provider does not know and was not sent; absent without any',
  'Retry-After': 'Seconds to wait before the request is sent again, on 429 and 503',
  'x-should-retry': 'Has the value false where a retry of the same request cannot succeed or could be charged again',
  'x-ratelimit-limit-requests':
    'The requests a minute that the key, its account or the model allows, by the limit with the least left; absent without a limit',
  'x-ratelimit-remaining-requests': 'Those that are left',
  'x-ratelimit-reset-requests': 'The time until all of them are left again, such as 6m0s',
  'x-ratelimit-limit-tokens': 'The same for tokens a minute',
  'x-ratelimit-remaining-tokens':
    'Those that are left, with requests in flight at their worst case; a request counts as used once it has ended',
  'x-ratelimit-reset-tokens': 'The time until all of them are left again, such as 6m0s',
  Allow: 'The methods that the path serves, on 405',
  ETag: 'The entity tag of the answer, for If-None-Match',
  'idempotent-replayed':
    'Has the value true where the answer is that of an earlier request with the same Idempotency-Key',
  'PAYMENT-REQUIRED': 'The quote and the ways to pay it by x402, as base64 of JSON, on 402',
  'WWW-Authenticate': 'Challenges of MPP (Payment), on 402',
  'PAYMENT-RESPONSE': 'The settled x402 payment, with its transaction, as base64 of JSON',
  'Payment-Receipt': 'The settled MPP payment, as base64url of JSON',
} as const

type ResponseHeader = keyof typeof RESPONSE_HEADERS

const IN_EVERY_ANSWER: readonly ResponseHeader[] = ['x-request-id']
const IN_REFUSALS: readonly ResponseHeader[] = ['Retry-After', 'x-should-retry', 'Allow']
const OF_LIMITS: readonly ResponseHeader[] = [
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
]
const IN_QUOTES: readonly ResponseHeader[] = ['PAYMENT-REQUIRED', 'WWW-Authenticate']
const OF_PAYMENTS: readonly ResponseHeader[] = ['PAYMENT-RESPONSE', 'Payment-Receipt']

/** Which headers the answers of an operation have, in addition to those of every answer. */
export interface AnswerHeaders {
  readonly isCharged: boolean
  /** Other models may serve it. */
  readonly mayFallBack: boolean
  readonly isPaid: boolean
  readonly isCached: boolean
  readonly isIdempotent: boolean
}

/** The parameter of an operation for a header that clients send. */
export function headerParameter(name: keyof typeof REQUEST_HEADERS) {
  return { name, in: 'header', required: false, description: REQUEST_HEADERS[name], schema: { type: 'string' } }
}

/** Puts the headers into the answers of an operation, by status. */
export function withHeaders<Answer extends object>(
  answers: Readonly<Record<string, Answer>>,
  { isCharged, mayFallBack, isPaid, isCached, isIdempotent }: AnswerHeaders,
): Record<string, Answer & { headers: Record<string, unknown> }> {
  const inDone: readonly ResponseHeader[] = [
    ...(isCharged ? (['x-cost-units', 'x-dropped-parameters'] as const) : []),
    ...(mayFallBack ? (['x-served-model'] as const) : []),
    ...(isPaid ? OF_PAYMENTS : []),
    ...(isCached ? (['ETag'] as const) : []),
    ...(isIdempotent ? (['idempotent-replayed'] as const) : []),
  ]
  const limits = isCharged ? OF_LIMITS : []
  const entries = Object.entries(answers).map(([status, answer]) => {
    const own = status === 'default' ? IN_REFUSALS : status === '402' ? IN_QUOTES : inDone
    const headers = [...IN_EVERY_ANSWER, ...own, ...(status === '402' ? [] : limits)].map((name) => [
      name,
      { $ref: `#/components/headers/${name}` },
    ])
    return [status, { ...answer, headers: Object.fromEntries(headers) }] as const
  })
  return Object.fromEntries(entries)
}

/** The headers as components of the document. */
export function headerComponents(): Record<string, unknown> {
  const entries = Object.entries(RESPONSE_HEADERS)
  return Object.fromEntries(entries.map(([name, description]) => [name, { description, schema: { type: 'string' } }]))
}
