import { row } from './row.ts'

/** The contract's codes for paying per request, and those for sessions, keys and the account. */
export const PAYMENT_ERRORS = {
  agent_identity_invalid: row(400, 'x-erc8004-agent is malformed or names another registry; correct it.'),
  agent_identity_not_payer: row(403, "Pay from the named agent's owner or wallet."),
  agent_identity_unknown: row(400, 'The agent id in x-erc8004-agent is not in the registry; correct it.'),
  authorization_used: row([402, 409], 'This authorization was already used or cancelled; sign a new one.'),
  funds_lease: row(503, 'Payments pause for a moment; nothing was charged. Try again after Retry-After seconds.'),
  insufficient_funds: row(402, 'The wallet cannot fund the payment; add funds and pay again after a minute.'),
  invalid_address: row(400, 'Give the wallet address as 0x and 40 hex digits.'),
  mpp_invalid_challenge: row(402, 'The challenge was not issued here, was altered or is paid; ask for a new one.'),
  mpp_invalid_payload: row(402, 'The payload does not fit its type; correct it.'),
  mpp_malformed_credential: row(402, 'Send the credential as base64url JSON with challenge, payload and source.'),
  mpp_payment_expired: row(402, 'The challenge or signature has expired; ask for a new one.'),
  payment_already_resolved: row(409, 'The payment was settled another way; nothing was served. Make a new one.'),
  payment_conflict: row(400, 'Send one payment credential, not two.'),
  payment_in_flight: row(429, 'Another payment from this address is settling; try again after Retry-After seconds.'),
  payment_invalid: row(402, 'The payment does not verify; sign a new one for the quote.'),
  payments_busy: row(429, 'The gateway is settling at capacity; try again after Retry-After seconds.'),
  allowance_required: row(402, 'Approve the coin to the allowance contract once, then pay again after a minute.'),
  quote_mismatch: row(402, 'The payment does not match the current quote; sign one for the quote in this answer.'),
  settlement_failed: row(402, 'The transfer did not settle and nothing was served; make a new payment.'),
  settlement_unconfirmed: row(
    502,
    'The outcome of the transfer is unknown; it is refunded if it lands. Do not resend.',
    {
      type: 'server_error',
      retryable: false,
    },
  ),
  x402: row(402, 'Payment is required; pay the quote in this answer.'),

  account_not_linked: row(401, 'This sign-in is not linked to an account; link it first.'),
  address_in_use: row(409, 'The wallet is linked to another account; use another wallet.'),
  already_referred: row(409, 'The account already has a referrer.'),
  attach_velocity: row(429, 'Too many accounts used a referral code from this address; try again later.'),
  attestation_not_found: row(404, 'There is no such attestation of the reserve; see /v1/reserve/attestations/latest.'),
  authorization_invalid: row(400, 'The deposit authorization was refused and nothing was taken; sign a new one.'),
  bad_signature: row(400, 'The signature is not by this wallet; sign again.'),
  below_minimum: row([400, 409], 'The amount is below the minimum; raise it.'),
  code_unavailable: row(503, 'A referral code could not be made; try again.', { type: 'server_error' }),
  withdrawals_paused: row(
    503,
    'Withdrawals pause, as the reserve is not known to cover what is owed; nothing was taken. Try again later.',
  ),
} as const
