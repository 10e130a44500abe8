import type { ContractLimits } from '../limits/limits.ts'
import { byWindow, oneOf, windowList } from '../money/windows.ts'
import { flag, flagOrNone, pageAfter, pageLimit, text, textList, timeOrNone, usdOrNone } from './fields.ts'
import { type ApiRoute, members } from './route.ts'

/** The settings of a key that its owner controls. */
export const keySettings = (limits: ContractLimits) => ({
  name: text('a text of at most 200 characters', 200),
  paused: flag('whether requests with this key are refused'),
  caps: {
    ...members(byWindow((window) => usdOrNone(`the most that may be spent in ${oneOf(window)}`))),
    description: `an object with some of ${windowList('and')}`,
  },
  budget: usdOrNone('the most that may be spent in the whole life of the key'),
  models: textList('model ids', '^[\\x21-\\x7e]+$', limits.modelsPerKeyMax),
  tools: textList('tool ids', '^[a-z0-9][a-z0-9_.-]*$', limits.toolsPerKeyMax),
  no_logs: flag('no-logs mode'),
  private_tier: flag('private tier'),
  capture_content: flag(
    'whether traces may have the content of requests and answers, where the proxy captures any; not on the private tier',
  ),
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
  tokens_per_minute: {
    type: ['integer', 'null'],
    minimum: 1,
    maximum: 1_000_000_000_000,
    description: 'a positive integer, the tokens of prompts and answers in any minute, or null for no limit',
  },
  parallel: {
    type: ['integer', 'null'],
    minimum: 1,
    maximum: 1_000_000,
    description: 'a positive integer, the requests in flight, or null for no limit',
  },
  tags: {
    type: 'object',
    additionalProperties: { type: 'string', description: 'a text' },
    maxProperties: limits.tagsMax,
    description: `an object of at most ${limits.tagsMax} texts, the tags of requests that do not say otherwise; an empty one removes them`,
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
