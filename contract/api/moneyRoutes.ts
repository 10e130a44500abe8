import type { ContractLimits } from '../limits/limits.ts'
import { coinAmount, pageAfter, pageLimit, text } from './fields.ts'
import { type ApiRoute, members } from './route.ts'

const DECIMAL = (description: string) => text(`${description}, as a decimal string`, 78)

/** Deposits and withdrawals on the chain. */
export const moneyRoutes = (limits: ContractLimits) =>
  ({
    get_payer_credits: {
      method: 'GET',
      path: '/x402/v1/credits/{address}',
      auth: 'open',
      summary: 'Credits of a wallet: remainders of its payments for single requests; public',
    },
    get_funding: {
      method: 'GET',
      path: '/v1/account/funding',
      auth: 'key_or_session',
      summary: 'Chain, tokens, address and minimums of deposits and withdrawals',
    },
    list_deposits: {
      method: 'GET',
      path: '/v1/account/deposits',
      auth: 'session',
      summary: 'Deposits of the account, newest first',
      query: members({ limit: pageLimit(limits.listPageMax), after: pageAfter('dep') }),
    },
    get_deposit: {
      method: 'GET',
      path: '/v1/account/deposits/{id}',
      auth: 'key_or_session',
      summary: 'One deposit and its state',
    },
    create_deposit: {
      method: 'POST',
      path: '/v1/account/deposits',
      auth: 'key_or_session',
      summary: 'Deposit the stablecoin of a linked wallet by its signature (EIP-3009), without gas',
      body: members(
        {
          authorization: {
            ...members(
              {
                from: text('the linked wallet that signs', 42),
                to: text('the address of deposits', 42),
                value: DECIMAL('the amount in the smallest units of the token'),
                validAfter: DECIMAL('a time in seconds since 1970, best 0'),
                validBefore: DECIMAL('a time in seconds since 1970'),
                nonce: text('32 random bytes in hex, beginning with 0x', 66),
              },
              ['from', 'to', 'value', 'validAfter', 'validBefore', 'nonce'],
            ),
            description: 'an object with from, to, value, validAfter, validBefore and nonce',
          },
          signature: text('the signature of TransferWithAuthorization in hex, beginning with 0x', 4_098),
        },
        ['authorization', 'signature'],
      ),
    },
    get_liability: {
      method: 'GET',
      path: '/v1/account/liability',
      auth: 'key_or_session',
      summary: 'Proof that the last attestation of the reserve counts the coin of the account',
    },
    list_withdrawals: {
      method: 'GET',
      path: '/v1/account/withdrawals',
      auth: 'session',
      summary: 'Withdrawals of the account, newest first',
      query: members({ limit: pageLimit(limits.listPageMax), after: pageAfter('wdr') }),
    },
    get_withdrawal: {
      method: 'GET',
      path: '/v1/account/withdrawals/{id}',
      auth: 'session',
      summary: 'One withdrawal and its state',
    },
    create_withdrawal: {
      method: 'POST',
      path: '/v1/account/withdrawals',
      auth: 'session',
      summary: 'Send coin of the account to one of its linked wallets',
      body: members(
        {
          amount: coinAmount('the amount'),
          asset: {
            type: 'string',
            enum: ['coin', 'stablecoin'],
            description: 'coin or stablecoin: the token to be sent',
          },
          // The handler checks its form, because a malformed address has its own error code.
          address: text('a linked wallet, as 0x and 40 hex digits; without it, the wallet that is signed in', 256),
        },
        ['amount'],
      ),
    },
  }) as const satisfies Record<string, ApiRoute>
