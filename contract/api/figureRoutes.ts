import type { ContractLimits } from '../limits/limits.ts'
import { pageLimit, text } from './fields.ts'
import { type ApiRoute, type JsonSchema, members } from './route.ts'

const days = (most: number): JsonSchema => ({
  type: 'integer',
  minimum: 1,
  maximum: most,
  description: `how many days, an integer from 1 to ${most}`,
})

const LAST_DAY: JsonSchema = { type: 'string', format: 'day', description: 'the last day, such as 2027-01-31 (UTC)' }

const oneOf = (...names: string[]): JsonSchema => ({
  type: 'string',
  enum: names,
  description: `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`,
})

/** Public figures of the gateway; they reveal nothing about single accounts. */
export const figureRoutes = (limits: ContractLimits) =>
  ({
    get_stats: {
      method: 'GET',
      path: '/v1/stats',
      auth: 'open',
      summary: 'Requests, tokens, charge, success and times of the whole gateway, by day and by model',
      query: members({
        days: {
          ...days(limits.statsModelDaysMax),
          description: `how many days, an integer from 1 to ${limits.statsDaysMax}, or with model to ${limits.statsModelDaysMax}`,
        },
        to: LAST_DAY,
        model: text('the id of a model', 256, { minLength: 1 }),
      }),
      cache: { maxAgeSeconds: 10 },
    },
    get_rankings: {
      method: 'GET',
      path: '/v1/rankings',
      auth: 'open',
      summary: 'Models or makers ranked by tokens, charge, requests or growth',
      query: members({
        of: oneOf('models', 'makers'),
        by: oneOf('tokens', 'charge', 'requests', 'growth'),
        over: oneOf('day', 'week', 'month'),
        to: LAST_DAY,
        limit: pageLimit(limits.listPageMax),
      }),
      cache: { maxAgeSeconds: 10 },
    },
    get_index: {
      method: 'GET',
      path: '/v1/index',
      auth: 'open',
      summary: 'The compute price index: the cost of a fixed basket of tokens, with the basket',
      query: members({
        basket: {
          type: 'integer',
          minimum: 1,
          maximum: 1_000_000,
          description: 'the number of a basket, an integer above 0',
        },
        every: oneOf('day', 'month'),
        days: days(limits.indexDaysMax),
        to: LAST_DAY,
      }),
      cache: { maxAgeSeconds: 60 },
    },
    get_network: {
      method: 'GET',
      path: '/v1/network',
      auth: 'open',
      summary: 'Addresses, chain, tokens, contracts and public keys of the gateway',
      cache: { maxAgeSeconds: 60 },
    },
    get_ecosystem: {
      method: 'GET',
      path: '/v1/ecosystem',
      auth: 'open',
      summary: 'Figures to quote, each with its source endpoint',
      cache: { maxAgeSeconds: 60 },
    },
  }) as const satisfies Record<string, ApiRoute>
