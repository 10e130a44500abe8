import type { ContractLimits } from '../limits/limits.ts'
import { pageAfter, pageLimit, text } from './fields.ts'
import { type ApiRoute, type JsonSchema, members } from './route.ts'

const CACHE = { maxAgeSeconds: 5 }

const number = (what: string): JsonSchema => ({
  type: 'integer',
  minimum: 1,
  maximum: 999_999_999,
  description: `${what}, an integer above 0`,
})

const choice = members({
  version: number('the version of a catalog'),
  price_sheet: number('the version of a price sheet, for the first catalog that binds it'),
})

const time = (what: string): JsonSchema => ({
  type: 'string',
  format: 'time',
  description: `${what} such as "2027-01-31T12:00:00Z"`,
})

/** The signed catalog, and the prices of others. */
export const catalogRoutes = (limits: ContractLimits) =>
  ({
    get_catalog: {
      method: 'GET',
      path: '/v1/catalog',
      auth: 'open',
      summary: 'The signed catalog in force, or another version, as canonical JSON',
      query: choice,
      cache: CACHE,
    },
    get_catalog_signature: {
      method: 'GET',
      path: '/v1/catalog/signature',
      auth: 'open',
      summary: 'The signatures of the catalog in force, or of another version',
      query: choice,
      cache: CACHE,
    },
    get_catalog_signer: {
      method: 'GET',
      path: '/v1/catalog/signer',
      auth: 'open',
      summary: 'The keys that sign the catalog, and the signatures with which each key named the next',
      cache: CACHE,
    },
    list_catalogs: {
      method: 'GET',
      path: '/v1/catalog/versions',
      auth: 'open',
      summary: 'Every signed version of the catalog, newest first',
      query: members({
        limit: pageLimit(limits.listPageMax),
        after: number('the version of the last catalog of the page before'),
      }),
      cache: CACHE,
    },
    list_price_observations: {
      method: 'GET',
      path: '/v1/pricing/observations',
      auth: 'open',
      summary: 'Observed list prices of providers, newest first, with the prices sold',
      query: members({
        model: text('a model of the catalog, or as its provider names it', 200),
        provider: text('a provider as the routes of the price sheet name it', 128),
        from: time('the time since which they were seen'),
        to: time('the time before which they were first seen'),
        limit: pageLimit(limits.listPageMax),
        after: pageAfter('obs'),
      }),
      cache: CACHE,
    },
  }) as const satisfies Record<string, ApiRoute>
