import type { ContractLimits } from '../limits/limits.ts'
import { pageAfter, pageLimit, time } from './fields.ts'
import { type ApiRoute, members } from './route.ts'

/** The purposes of a movement on the chain. */
export const FLOW_KINDS = [
  'payment',
  'deposit',
  'refund',
  'withdrawal',
  'settlement',
  'reward',
  'reward_root',
  'vault',
  'vault_vest',
  'lock_mint',
  'other',
] as const
export type FlowKind = (typeof FLOW_KINDS)[number]

/** Public reads of the chain as recorded by the gateway. */
export const chainRoutes = (limits: ContractLimits) =>
  ({
    list_flows: {
      method: 'GET',
      path: '/v1/flows',
      auth: 'open',
      summary: 'Recorded movements on the chain, newest first',
      query: members({
        limit: pageLimit(limits.listPageMax),
        after: pageAfter('flow'),
        kind: { type: 'string', enum: FLOW_KINDS, description: `one of ${FLOW_KINDS.join(', ')}` },
        from: time('the time from which on movements were recorded'),
        to: time('the time before which movements were recorded'),
      }),
      cache: { maxAgeSeconds: 5 },
    },
    list_settlements: {
      method: 'GET',
      path: '/v1/settlements',
      auth: 'open',
      summary: 'Settlement batches on the chain, newest first',
      query: members({
        limit: pageLimit(limits.listPageMax),
        after: {
          type: 'integer',
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'the number of the last batch of the page before, an integer above 0',
        },
      }),
      cache: { maxAgeSeconds: 5 },
    },
    get_settlement: {
      method: 'GET',
      path: '/v1/settlements/{number}',
      auth: 'open',
      summary: 'One settlement batch, with its checkpoint and the statement whose hash is on the chain',
      cache: { maxAgeSeconds: 5 },
    },
    get_reserve: {
      method: 'GET',
      path: '/v1/reserve',
      auth: 'open',
      summary: 'The debts, the holdings on the chain, and the contracts that hold them',
      cache: { maxAgeSeconds: 5 },
    },
    list_reserve_days: {
      method: 'GET',
      path: '/v1/reserve/history',
      auth: 'open',
      summary: 'The first and the last reading of the reserve of each day, newest first',
      query: members({
        limit: pageLimit(limits.listPageMax),
        after: {
          type: 'string',
          pattern: '^\\d{4}-\\d{2}-\\d{2}$',
          description: 'the day of the last entry of the page before, such as "2027-01-31"',
        },
      }),
      cache: { maxAgeSeconds: 5 },
    },
    get_latest_attestation: {
      method: 'GET',
      path: '/v1/reserve/attestations/latest',
      auth: 'open',
      summary: 'The last signed attestation of the reserve, with its signatures',
      cache: { maxAgeSeconds: 5 },
    },
    get_attestation: {
      method: 'GET',
      path: '/v1/reserve/attestations/{number}',
      auth: 'open',
      summary: 'A signed attestation of the reserve by its number',
      cache: { maxAgeSeconds: 5 },
    },
  }) as const satisfies Record<string, ApiRoute>
