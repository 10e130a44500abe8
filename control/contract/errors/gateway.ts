import { row } from './row.ts'

/** Errors that the contract leaves open: validation, credentials, routing inside the gateway and its own failures. */
export const GATEWAY_ERRORS = {
  invalid_request: row(400, 'The request is not valid; change it as described.', { publicCode: null }),
  unsupported_media_type: row(400, 'Send the body as Content-Type: application/json.'),
  body_too_large: row(413, 'The body is too large; send a smaller one.', { publicCode: null }),
  invalid_api_key: row(401, 'Send a valid API key as Authorization: Bearer sk_...'),
  invalid_session: row(401, 'Sign in and send the session as Authorization: Bearer ses_...'),
  wrong_credential: row(403, 'This endpoint takes another kind of credential.'),
  permission_denied: row(403, 'This belongs to someone else; use the credential that it was made with.'),
  not_found: row(404, 'There is no such path; see /llms.txt for what is served.'),
  method_not_allowed: row(405, 'This path does not serve the method; the Allow header names those it does.'),
  receipt_not_found: row(404, 'There is no receipt with this id.'),
  key_not_found: row(404, 'The account has no key with this id; see /v1/account/keys.'),
  wallet_not_found: row(404, 'This wallet is not linked to the account; see /v1/account/wallets.'),
  idempotency_conflict: row(409, 'This Idempotency-Key was sent with another request; use a new one.'),
  chain_unavailable: row(503, 'The chain cannot be read now; try again after Retry-After seconds.', {
    type: 'server_error',
  }),
  sheet_not_found: row(404, 'There is no price sheet with this version; see /v1/pricing/sheets.'),
  approval_required: row(202, "Waits for the owner's approval; then send it again with x-approval-id."),
  internal_error: row(500, 'The gateway failed; nothing was charged. Try again.'),
  admission_unavailable: row(
    503,
    'The gateway cannot reach its ledger; nothing ran. Try again after Retry-After seconds.',
  ),
  too_many_requests_open: row(503, 'The gateway has too many open requests; try again after Retry-After seconds.'),
} as const
