import type { ContractLimits } from '../limits/limits.ts'
import { pageAfter, pageLimit, text } from './fields.ts'
import { type ApiRoute, type JsonSchema, members } from './route.ts'

const ID = (prefix: string, what: string): JsonSchema => ({
  type: 'string',
  pattern: `^${prefix}_[0-9A-HJKMNP-TV-Z]{26}$`,
  description: `the id (${prefix}_...) of ${what}`,
})

// The handler refuses more digits; its error explains lots and ticks.
const DECIMAL = '^[0-9]{1,10}([.][0-9]{1,9})?$'
const TOKENS: JsonSchema = {
  type: 'string',
  pattern: DECIMAL,
  description: 'whole tokens as a decimal string such as "2.5", a multiple of 0.001 above zero',
}
const PRICE: JsonSchema = {
  type: 'string',
  pattern: DECIMAL,
  description: 'coin per whole token as a decimal string such as "0.125", a multiple of 0.000001 above zero',
}

/** Compute locks: a price fixed for a block of one model for a month. */
export const lockRoutes = (limits: ContractLimits) =>
  ({
    get_locks: {
      method: 'GET',
      path: '/v1/locks',
      auth: 'optional',
      summary: 'Rules and series of compute locks; with a credential also the book of each series',
    },
    get_lock_series: {
      method: 'GET',
      path: '/v1/locks/series/{id}',
      auth: 'open',
      summary:
        'One series of compute locks, also when its month is over: receipts that burnt its tokens are verified by it',
      cache: { maxAgeSeconds: 5 },
    },
    quote_lock: {
      method: 'POST',
      path: '/v1/locks/quote',
      auth: 'key_or_session',
      summary: 'Price a buy of tokens: the offers that fill it, fees, and until when the price holds',
      body: members({ series: ID('lock', 'a series'), tokens: TOKENS }, ['series', 'tokens']),
    },
    create_lock_order: {
      method: 'POST',
      path: '/v1/locks/orders',
      auth: 'key_or_session',
      summary: 'Buy at market, place a limit order, or sell holdings',
      body: members(
        {
          series: ID('lock', 'a series'),
          side: { type: 'string', enum: ['buy', 'sell'], description: 'buy or sell' },
          type: { type: 'string', enum: ['market', 'limit'], description: 'market or limit' },
          tokens: TOKENS,
          price: PRICE,
          quote: ID('lqt', 'a quote whose price must hold'),
        },
        ['series', 'side', 'type', 'tokens'],
      ),
    },
    cancel_lock_order: {
      method: 'POST',
      path: '/v1/locks/orders/{id}/cancel',
      auth: 'key_or_session',
      summary: 'Take an open order out of the book; its escrow comes back',
      body: members({}),
    },
    list_lock_withdrawals: {
      method: 'GET',
      path: '/v1/locks/withdrawals',
      auth: 'key_or_session',
      summary: 'Withdrawals of tokens, newest first',
      query: members({ limit: pageLimit(limits.listPageMax), after: pageAfter('lwd') }),
    },
    get_lock_withdrawal: {
      method: 'GET',
      path: '/v1/locks/withdrawals/{id}',
      auth: 'key_or_session',
      summary: 'One withdrawal of tokens and its state',
    },
    create_lock_withdrawal: {
      method: 'POST',
      path: '/v1/locks/withdrawals',
      auth: 'key_or_session',
      summary: 'Send tokens of a holding to one of the linked wallets of the account, as ERC-1155 tokens',
      body: members(
        {
          series: ID('lock', 'a series'),
          tokens: {
            type: 'string',
            pattern: DECIMAL,
            description: 'whole tokens as a decimal string such as "2.5", with at most six digits after the point',
          },
          // The handler checks its form, because a malformed address has its own error code.
          address: text('a linked wallet, as 0x and 40 hex digits; without it, the wallet that is signed in', 256),
        },
        ['series', 'tokens'],
      ),
    },
    get_own_locks: {
      method: 'GET',
      path: '/v1/locks/mine',
      auth: 'key_or_session',
      summary: "The account's holdings, its orders, newest first, and the requests that last burnt tokens",
      query: members({ limit: pageLimit(limits.listPageMax), after: pageAfter('lor') }),
    },
  }) as const satisfies Record<string, ApiRoute>
