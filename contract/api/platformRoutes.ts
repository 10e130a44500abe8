import type { ContractLimits } from '../limits/limits.ts'
import { usageQuery } from './accountRoutes.ts'
import { pageAfter, pageLimit, text } from './fields.ts'
import { keySettings } from './keyRoutes.ts'
import { type ApiRoute, type JsonSchema, members } from './route.ts'

/** Of a key's settings, those that a platform decides. */
function settingsOf(limits: ContractLimits): Readonly<Record<string, JsonSchema>> {
  const { platform: _, paused: __, can_transfer: ___, ...settings } = keySettings(limits)
  return settings
}
const USER = text('a text of at most 200 characters by which the platform knows its user', 200)

/** Keys that a platform makes for its users. */
export const platformRoutes = (limits: ContractLimits) =>
  ({
    list_sub_keys: {
      method: 'GET',
      path: '/v1/platform/keys',
      auth: 'key',
      summary: "The platform's sub-keys, newest first",
      query: members({ limit: pageLimit(limits.listPageMax), after: pageAfter('key'), user: USER }),
    },
    create_sub_key: {
      method: 'POST',
      path: '/v1/platform/keys',
      auth: 'key',
      summary: 'Create a sub-key within the bounds of the platform key; it is shown only once',
      body: members({ ...settingsOf(limits), user: USER }),
    },
    revoke_sub_key: {
      method: 'POST',
      path: '/v1/platform/keys/{id}/revoke',
      auth: 'key',
      summary: 'Revoke one sub-key permanently',
      body: members({}),
    },
    get_platform_usage: {
      method: 'GET',
      path: '/v1/platform/usage',
      auth: 'key',
      summary: 'Requests, tokens and costs across the sub-keys',
      query: members(usageQuery(limits)),
    },
  }) as const satisfies Record<string, ApiRoute>
