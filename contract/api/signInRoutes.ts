import { text, WALLET_PROOF } from './fields.ts'
import { type ApiRoute, members } from './route.ts'

/** Signing in with a wallet (EIP-4361), and linking it to an account. */
export const SIGN_IN_ROUTES = {
  create_nonce: {
    method: 'POST',
    path: '/v1/auth/nonce',
    auth: 'none',
    summary: 'Get a nonce to sign',
  },
  sign_in: {
    method: 'POST',
    path: '/v1/auth/verify',
    auth: 'none',
    summary: 'Sign in with a signed message',
    body: members(WALLET_PROOF, ['message', 'signature']),
  },
  sign_out: {
    method: 'DELETE',
    path: '/v1/auth/session',
    auth: 'sign_in',
    summary: 'Sign out',
  },
  link_sign_in: {
    method: 'POST',
    path: '/v1/auth/link',
    auth: 'sign_in',
    summary: "Link the session's wallet to an account",
    body: members({ code: text('the one-time code (lc_...) that the operator gave you', 64) }, ['code']),
  },
  list_wallets: {
    method: 'GET',
    path: '/v1/account/wallets',
    auth: 'session',
    summary: 'List the linked wallets',
  },
  link_wallet: {
    method: 'POST',
    path: '/v1/account/wallets',
    auth: 'session',
    summary: 'Link another wallet by its signature',
    body: members(WALLET_PROOF, ['message', 'signature']),
  },
  unlink_wallet: {
    method: 'DELETE',
    path: '/v1/account/wallets/{address}',
    auth: 'session',
    summary: 'Unlink a wallet',
  },
} as const satisfies Record<string, ApiRoute>
