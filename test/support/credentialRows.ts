/** Who sends a request: nobody, credentials that are none, another account, and the owner of what the path names. */
export const KINDS = [
  'none',
  'wrong key',
  'wrong session',
  'read token',
  'other key',
  'other session',
  'key',
  'session',
] as const
export type Kind = (typeof KINDS)[number]

/** A status and a code, such as `403 permission_denied`; a status alone is an answer, `400 -` an error without a code. */
export type Answers = Readonly<Record<Kind, string>>

/** What the rows name, made by the owner before. */
export type Name = 'key' | 'receipt' | 'link' | 'linkToken' | 'approval' | 'subKey' | 'provider' | 'video' | 'clip'

export interface Row {
  /** Where it differs from the pattern; `<name>` stands for what the owner has made, anew for every request. */
  readonly path?: string
  readonly body?: unknown
  readonly answers: Answers
}

const WRONG = '403 wrong_credential'
const NO_KEY = '401 invalid_api_key'
const NO_SESSION = '401 invalid_session'
const DENIED = '403 permission_denied'

const SERIES = 'lock_0123456789ABCDEFGHJKMNPQRS'

const all = (answer: string): Answers => Object.fromEntries(KINDS.map((kind) => [kind, answer])) as Record<Kind, string>

/** Takes a key alone. */
const keyed = (own: string, other = own): Answers => ({
  ...all(WRONG),
  none: NO_KEY,
  'wrong key': NO_KEY,
  key: own,
  'other key': other,
})

/** Takes a session alone. */
const session = (own: string, other = own): Answers => ({
  ...all(WRONG),
  none: NO_SESSION,
  'wrong session': NO_SESSION,
  session: own,
  'other session': other,
})

/** Takes either. */
const either = (own: string, other = own): Answers => ({
  none: NO_KEY,
  'wrong key': NO_KEY,
  'wrong session': NO_SESSION,
  'read token': WRONG,
  key: own,
  session: own,
  'other key': other,
  'other session': other,
})

/** Takes either or none; tells more to some. */
const optional = (answer: string): Answers => ({ ...either(answer), none: answer })

const CHAT = { model: 'test/small', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }
/** Who may ask is told what is wrong with an empty body. */
const BAD = '400 -'
const FORM = '400 not_multipart'
/** This stack takes no payments. */
const NO_PAYMENTS = '404 not_found'

const row = (answers: Answers, body?: unknown, path?: string): Row => ({
  answers,
  ...(body === undefined ? {} : { body }),
  ...(path === undefined ? {} : { path }),
})

/** A row for every route that is served; a remark in brackets tells several rows of one route apart. */
export const ROWS: Readonly<Record<string, Row>> = {
  'POST /v1/chat/completions': row(keyed('200'), CHAT),
  'POST /v1/messages': row(keyed('200'), CHAT),
  'POST /v1/messages/count_tokens': row(keyed('200'), { model: CHAT.model, messages: CHAT.messages }),
  'POST /v1/completions': row(keyed('200'), { model: CHAT.model, max_tokens: 5, prompt: 'hi' }),
  'POST /v1/responses/input_tokens': row(keyed('200'), { model: CHAT.model, input: 'hi' }),
  'POST /v1/responses/compact': row(keyed('200'), { model: CHAT.model, max_output_tokens: 16, input: 'hi' }),
  'POST /v1/responses': row(keyed('200'), { model: CHAT.model, max_output_tokens: 16, input: 'hi' }),
  'POST /v1/embeddings': row(keyed(BAD), {}),
  'POST /v1/images/generations': row(keyed(BAD), {}),
  'POST /v1/images/edits': row(keyed(FORM), {}),
  'POST /v1/audio/speech': row(keyed(BAD), {}),
  'POST /v1/audio/transcriptions': row(keyed(FORM), {}),
  'POST /v1/audio/translations': row(keyed(FORM), {}),
  'POST /v1/rerank': row(keyed(BAD), {}),
  'POST /v1/videos/generations': row(keyed(BAD), {}),
  'POST /x402/v1/chat/completions': row(all(NO_PAYMENTS), CHAT),
  'POST /x402/v1/completions': row(all(BAD), {}),
  'POST /x402/v1/embeddings': row(all(BAD), {}),
  'POST /x402/v1/images/generations': row(all(BAD), {}),
  'POST /x402/v1/images/edits': row(all(FORM), {}),
  'POST /x402/v1/audio/speech': row(all(BAD), {}),
  'POST /x402/v1/audio/transcriptions': row(all(FORM), {}),
  'POST /x402/v1/audio/translations': row(all(FORM), {}),
  'POST /x402/v1/rerank': row(all(BAD), {}),
  'POST /x402/v1/videos/generations': row(all(BAD), {}),
  'GET /v1/videos/*': row(keyed('200', DENIED), undefined, '/v1/videos/<video>'),
  'GET /v1/videos/* (clip)': row(keyed('200', DENIED), undefined, '/v1/videos/<clip>/content'),

  'POST /mcp': row(all('200'), { jsonrpc: '2.0', id: 1, method: 'ping' }),
  'GET /v1/tools': row(all('200')),
  'GET /v1/tools/*': row(all('404 tool_not_found'), undefined, '/v1/tools/none'),
  'POST /v1/tools/*': row(keyed('404 tool_not_found'), {}, '/v1/tools/none'),
  'GET /v1/batches/{id}': row(keyed('404 batch_not_found'), undefined, `/v1/batches/batch_${'0'.repeat(26)}`),
  'GET /v1/batches/{id}/result': row(
    keyed('404 batch_not_found'),
    undefined,
    `/v1/batches/batch_${'0'.repeat(26)}/result`,
  ),

  'GET /v1/models': row(all('200')),
  'GET /v1/models/*': row(all('200'), undefined, '/v1/models/test/small'),
  'GET /v1/pricing': row(all('200')),
  'GET /v1/pricing/sheets': row(all('200')),
  'GET /v1/pricing/sheets/*': row(all('200'), undefined, '/v1/pricing/sheets/1'),
  'GET /v1/limits': row(all('200')),
  'GET /v1/status': row(all('200')),
  'GET /v1/status/history': row(all('200')),
  'GET /v1/openapi.json': row(all('200')),
  'GET /skill.md': row(all('200')),
  'GET /llms.txt': row(all('200')),
  'GET /console': row(all('200')),
  'GET /console/*': row(all('200'), undefined, '/console/models'),
  'GET /health': row(all('200')),
  'GET /ready': row(all('200')),

  'GET /v1/account/requests/{id}': row(
    either('200', '404 request_not_found'),
    undefined,
    '/v1/account/requests/<receipt>',
  ),
  'GET /v1/receipts': row(either('200')),
  'GET /v1/usage': row(either('200')),
  'GET /v1/receipts/*': row(keyed('200', DENIED), undefined, '/v1/receipts/<receipt>'),
  'GET /x402/v1/receipts/*': row(all('200'), undefined, '/x402/v1/receipts/<receipt>'),

  'GET /x402/v1/credits/{address}': row(all('404 not_found'), undefined, `/x402/v1/credits/0x${'1'.repeat(40)}`),

  'POST /v1/auth/nonce': row(all('200')),
  'POST /v1/auth/verify': row(all(BAD), {}),
  'POST /v1/auth/link': row(session(BAD), {}),
  'DELETE /v1/auth/session': row(session('200')),

  'GET /v1/account': row(session('200')),
  'PATCH /v1/account': row(session('200'), { name: 'n' }),
  'GET /v1/account/activity': row(session('200')),
  'GET /v1/account/usage': row(session('200')),
  'GET /v1/statements/{month}.csv': row(session('200'), undefined, '/v1/statements/2026-01.csv'),
  'GET /v1/statements/{month}.json': row(session('200'), undefined, '/v1/statements/2026-01.json'),
  'GET /v1/account/wallets': row(session('200')),
  'POST /v1/account/wallets': row(session(BAD), {}),
  'DELETE /v1/account/wallets/{address}': row(
    session('404 wallet_not_found'),
    undefined,
    `/v1/account/wallets/0x${'1'.repeat(40)}`,
  ),

  'GET /v1/account/funding': row(either(NO_PAYMENTS)),
  'GET /v1/account/deposits': row(session('200')),
  'POST /v1/account/deposits': row(either(BAD), {}),
  'GET /v1/account/deposits/{id}': row(
    either('404 deposit_not_found'),
    undefined,
    '/v1/account/deposits/dep_0123456789ABCDEFGHJKMNPQRS',
  ),
  'GET /v1/account/withdrawals': row(session('200')),
  'POST /v1/account/withdrawals': row(session(BAD), {}),
  'GET /v1/account/withdrawals/{id}': row(
    session('404 withdrawal_not_found'),
    undefined,
    '/v1/account/withdrawals/wdr_0123456789ABCDEFGHJKMNPQRS',
  ),

  'GET /v1/account/keys': row(session('200')),
  'POST /v1/account/keys': row(session('201'), {}),
  'PATCH /v1/account/keys/{id}': row(session('200', DENIED), { name: 'n' }, '/v1/account/keys/<key>'),
  'DELETE /v1/account/keys/{id}': row(session('200', DENIED), undefined, '/v1/account/keys/<key>'),
  'GET /v1/keys/{id}/limits': row(session('200', DENIED), undefined, '/v1/keys/<key>/limits'),

  'GET /v1/links': row(session('200')),
  'POST /v1/links': row(session('201', '402 insufficient_balance'), { amount: '0.01' }),
  'POST /v1/links/{token}/claim': row(session('200', '200'), {}, '/v1/links/<linkToken>/claim'),
  'POST /v1/links/{id}/cancel': row(session('200', DENIED), {}, '/v1/links/<link>/cancel'),

  'GET /v1/locks': row(optional('200')),
  'GET /v1/locks/series/{id}': row(all('404 lock_series_not_found'), undefined, `/v1/locks/series/${SERIES}`),
  'POST /v1/locks/quote': row(either('404 lock_series_not_found'), { series: SERIES, tokens: '1' }),
  'POST /v1/locks/orders': row(either('404 lock_series_not_found'), {
    series: SERIES,
    side: 'buy',
    type: 'market',
    tokens: '1',
  }),
  'POST /v1/locks/orders/{id}/cancel': row(
    either('404 lock_order_not_found'),
    {},
    '/v1/locks/orders/lor_0123456789ABCDEFGHJKMNPQRS/cancel',
  ),
  'GET /v1/locks/withdrawals': row(either('200')),
  'POST /v1/locks/withdrawals': row(either(NO_PAYMENTS), { series: SERIES, tokens: '1' }),
  'GET /v1/locks/withdrawals/{id}': row(
    either('404 withdrawal_not_found'),
    undefined,
    '/v1/locks/withdrawals/lwd_0123456789ABCDEFGHJKMNPQRS',
  ),
  'GET /v1/locks/mine': row(either('200')),

  'GET /v1/agents': row(either('200')),
  'POST /v1/agents': row(either(BAD), {}),
  'GET /v1/agents/leaderboard': row(all('200')),
  'GET /v1/agents/{slug}': row(optional('200'), undefined, '/v1/agents/an-agent'),
  'PATCH /v1/agents/{slug}': row(either('200', DENIED), { description: 'd' }, '/v1/agents/an-agent'),
  'POST /v1/agents/{slug}/fund': row(either('201', DENIED), { amount: '0.01' }, '/v1/agents/an-agent/fund'),
  'POST /v1/agents/{slug}/key': row(either('201', DENIED), {}, '/v1/agents/an-agent/key'),
  'POST /v1/agents/{slug}/pay': row(either('201', DENIED), { to: 'owner', amount: '0.001' }, '/v1/agents/an-agent/pay'),
  'GET /v1/agents/{slug}/approvals': row(either('200', DENIED), undefined, '/v1/agents/an-agent/approvals'),
  'POST /v1/agents/{slug}/approvals/{id}/approve': row(
    either('200', DENIED),
    {},
    '/v1/agents/an-agent/approvals/<approval>/approve',
  ),
  'POST /v1/agents/{slug}/approvals/{id}/deny': row(
    either('200', DENIED),
    {},
    '/v1/agents/an-agent/approvals/<approval>/deny',
  ),

  'GET /v1/platform/keys': row(keyed('200')),
  'POST /v1/platform/keys': row(keyed('201', DENIED), {}),
  'POST /v1/platform/keys/{id}/revoke': row(keyed('200', DENIED), {}, '/v1/platform/keys/<subKey>/revoke'),
  'GET /v1/platform/usage': row(keyed('200')),

  'GET /v1/referrals': row(either('200')),
  'POST /v1/referrals': row(session(BAD), {}),

  'GET /v1/log/*': row(all('404 not_found'), undefined, '/v1/log/tile/5/000'),
  'GET /v1/log/checkpoint': row(all('200')),
  'POST /v1/log/checkpoint': row(all('400 -'), { note: 'x' }),
  'GET /v1/log/checkpoints': row(all('200')),
  'GET /v1/log/consistency': row(all('404 not_found'), undefined, '/v1/log/consistency?from=1&to=999999'),

  'GET /v1/pricing/observations': row(all('200')),
  'GET /v1/catalog': row(all('200')),
  'GET /v1/catalog/signature': row(all('200')),
  'GET /v1/catalog/signer': row(all('200')),
  'GET /v1/catalog/versions': row(all('200')),
  'GET /v1/privacy/attestation': row(all('200')),
  'GET /v1/stats': row(all('200')),
  'GET /v1/rankings': row(all('200')),
  'GET /v1/index': row(all('200')),
  'GET /v1/network': row(all('200')),
  'GET /v1/ecosystem': row(all('200')),

  'GET /v1/flows': row(all('200')),
  'GET /v1/reserve': row(all('200')),
  'GET /v1/reserve/history': row(all('200')),
  'GET /v1/reserve/attestations/latest': row(all('200')),
  'GET /v1/reserve/attestations/{number}': row(all('200'), undefined, '/v1/reserve/attestations/1'),
  // Attested before the accounts of the test were opened.
  'GET /v1/account/liability': row(either('404 attestation_not_found')),
  'GET /v1/settlements': row(all('200')),
  'GET /v1/scoin': row(all('404 not_found')),
  'GET /v1/holders/rewards': row(all('404 not_found')),
  'GET /v1/holders/rewards/me': row(either('404 not_found')),
  'GET /v1/holders/rewards/{address}': row(all('400 invalid_address'), undefined, '/v1/holders/rewards/0x12'),
  'GET /v1/settlements/{number}': row(all('404 not_found'), undefined, '/v1/settlements/1'),
  'GET /v1/providers': row(all('200')),
  'GET /v1/account/providers': row(session('200')),
  'POST /v1/providers': row(session(BAD), {}),
  'DELETE /v1/providers/{id}': row(session('200', DENIED), undefined, '/v1/providers/<provider>'),
}
