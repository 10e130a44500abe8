import type { ContractLimits } from '../limits/limits.ts'
import { pageLimit } from './fields.ts'
import { type ApiRoute, members } from './route.ts'

/** Rewards of the coin's holders by period, and the vault. */
export const holderRoutes = (limits: ContractLimits) =>
  ({
    get_rewards: {
      method: 'GET',
      path: '/v1/holders/rewards',
      auth: 'open',
      summary: 'Rewards of holders: terms, the period that runs, and closed periods with their roots, newest first',
      query: members({
        limit: pageLimit(limits.listPageMax),
        after: {
          type: 'integer',
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'the number of the last period of the page before, an integer above 0',
        },
      }),
      cache: { maxAgeSeconds: 10 },
    },
    get_own_rewards: {
      method: 'GET',
      path: '/v1/holders/rewards/me',
      auth: 'key_or_session',
      summary: "Rewards of the account's linked wallets",
    },
    get_holder_rewards: {
      method: 'GET',
      path: '/v1/holders/rewards/{address}',
      auth: 'open',
      summary: 'Whether an address earns, its earnings, and the proofs of its claims',
      cache: { maxAgeSeconds: 10 },
    },
    get_vault: {
      method: 'GET',
      path: '/v1/scoin',
      auth: 'open',
      summary: 'The vault of the coin: value, share price, yield and deposits of revenue',
      cache: { maxAgeSeconds: 10 },
    },
  }) as const satisfies Record<string, ApiRoute>
