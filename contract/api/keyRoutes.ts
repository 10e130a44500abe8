import type { ContractLimits } from '../limits/limits.ts'
import { flag, flagOrNone, pageAfter, pageLimit, text, textList, timeOrNone, usdOrNone } from './fields.ts'
import { type ApiRoute, members } from './route.ts'

/** The settings of a key that its owner controls. */
export const keySettings = (limits: ContractLimits) => ({
  name: text('a text of at most 200 characters', 200),
  paused: flag('whether requests with this key are refused'),
  caps: {
    ...members({
      hour: usdOrNone('the most that may be spent in an hour'),
      day: usdOrNone('the most that may be spent in a day'),
      month: usdOrNone('the most that may be spent in a month'),
    }),
    description: 'an object with some of hour, day and month',
  },
  budget: usdOrNone('the most that may be spent in the whole life of the key'),
  models: textList('model ids', '^[\\x21-\\x7e]+$', limits.modelsPerKeyMax),
  tools: textList('tool ids', '^[a-z0-9][a-z0-9_.-]*$', limits.toolsPerKeyMax),
  no_logs: flag('no-logs mode'),
  private_tier: flag('private tier'),
  allow_retention: flagOrNone(
    'whether providers and tools that keep data may serve requests that do not say so themselves',
  ),
  can_transfer: flag('whether the key may move coin, that is fund agents and pay from them'),
  requests_per_minute: {
    type: ['integer', 'null'],
    minimum: 1,
    maximum: 1_000_000_000,
    description: "a positive integer, or null for the gateway's own rate",
  },
  expires_at: timeOrNone('when the key ends, a time to come'),
  platform: flag('whether the key may make sub-keys'),
})

/** The API keys of an account. */
export const keyRoutes = (limits: ContractLimits) =>
  ({
    list_keys: {
      method: 'GET',
      path: '/v1/account/keys',
      auth: 'session',
      summary: 'List API keys, newest first',
      query: members({ limit: pageLimit(limits.listPageMax), after: pageAfter('key') }),
    },
    create_key: {
      method: 'POST',
      path: '/v1/account/keys',
      auth: 'session',
      summary: 'Create an API key, which is shown only once',
      body: members(keySettings(limits)),
    },
    update_key: {
      method: 'PATCH',
      path: '/v1/account/keys/{id}',
      auth: 'session',
      summary: "Change a key's settings",
      body: { ...members(keySettings(limits)), minProperties: 1 },
    },
    revoke_key: {
      method: 'DELETE',
      path: '/v1/account/keys/{id}',
      auth: 'session',
      summary: 'Revoke a key permanently',
    },
    get_key_limits: {
      method: 'GET',
      path: '/v1/keys/{id}/limits',
      auth: 'session',
      summary: 'Limits of a key: its caps and allowlists, its spending, and the rest',
    },
  }) as const satisfies Record<string, ApiRoute>
