import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { isId } from '../../../contract/wire/ids.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import type { ApiCall, ReadHandler, WriteHandler } from '../../api/call.ts'
import { listJson, pageOf } from '../../api/lists.ts'
import { type UsageFields, usageQuery } from '../../book/usage/usageQuery.ts'
import { readUsage } from '../../book/usage/usageReads.ts'
import { announceKeyChanges } from '../../runtime/bus/announceKeyChanges.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Client, Pool } from '../../runtime/db/pool.ts'
import type { ApiKey } from '../keys/keyRow.ts'
import { keyOf } from '../keys/keys.ts'
import { readSettings } from '../keys/readSettings.ts'
import { keyJson } from '../keys/settingsJson.ts'
import type { IdentityLimits } from '../limits.ts'
import { countSubKeys, endSubKey, lockSubKey, makeSubKey, noSubKey, pageOfSubKeys, withinBounds } from './subKeys.ts'

type PlatformOperation = 'list_sub_keys' | 'create_sub_key' | 'revoke_sub_key' | 'get_platform_usage'

/** The endpoints of platforms. The platform is the key that calls. */
export function platformHandlers({
  pool,
  redis,
  limits,
}: {
  readonly pool: Pool
  readonly redis: Redis
  limits: IdentityLimits
}): Record<PlatformOperation, ReadHandler | WriteHandler<unknown>> {
  return {
    list_sub_keys: {
      read: async (call) => {
        const { limit, after } = pageOf(call, limits)
        const user = String(call.query['user'] ?? '')
        const keys = await pageOfSubKeys(pool, callerKeyId(call), user, limit + 1, after)
        return { json: listJson(keys.map(subKeyJson), limit) }
      },
    },
    create_sub_key: {
      authorize: async (call, client) => void (await lockPlatform(client, call)),
      write: async (call, client) => {
        const platform = await lockPlatform(client, call)
        const { user, ...fields } = call.body
        const settings = withinBounds(platform, await readSettings(client, fields, limits))
        await refuseTooMany(client, platform.id, limits)
        const { key, secret } = await makeSubKey(client, call.actor, platform, String(user ?? ''), settings)
        const json = subKeyJson(key)
        return {
          status: 201,
          json: { ...json, api_key: secret },
          repeatJson: { ...json, api_key: null },
        }
      },
    },
    revoke_sub_key: {
      authorize: async (call, client) => void (await lockSubKey(client, callerKeyId(call), subKeyId(call))),
      write: async (call, client) => {
        const key = await endSubKey(client, call.actor, callerKeyId(call), subKeyId(call))
        return { json: subKeyJson(key), afterCommit: () => announceKeyChanges(pool, redis, limits) }
      },
    },
    get_platform_usage: {
      read: async (call) => {
        const query = usageQuery(call.accountId, call.query as UsageFields, limits)
        return { json: await readUsage(pool, { ...query, platformKeyId: callerKeyId(call) }, limits) }
      },
    },
  }
}

function subKeyJson(key: ApiKey) {
  const { platform: _, ...json } = keyJson(key) as ReturnType<typeof keyJson> & { platform?: boolean }
  return { ...json, object: 'platform_key' as const, user: key.platformUser }
}

function subKeyId({ params }: ApiCall): string {
  const id = params['id'] ?? ''
  if (!isId('key', id)) throw noSubKey()
  return id
}

/** Routes of platforms accept only API keys as credentials. */
function callerKeyId({ caller }: ApiCall): string {
  if (caller.kind !== 'key') throw new GatewayError('wrong_credential')
  return caller.keyId
}

/** The platform key that calls, with its row locked, so that its bounds hold while a sub-key is made. */
async function lockPlatform(client: Client, call: ApiCall): Promise<ApiKey> {
  const id = callerKeyId(call)
  locking(client, 'keys', () => [id])
  await client.query('SELECT 1 FROM api_keys WHERE id = $1 FOR UPDATE', [id])
  const key = await keyOf(client, id)
  if (key?.isPlatform === true && key.revokedAtMs === null) return key
  const message = 'This key makes no sub-keys; set platform to true on it with a session first.'
  throw new GatewayError('permission_denied', { message })
}

async function refuseTooMany(client: Client, platformKeyId: string, limits: IdentityLimits): Promise<void> {
  if ((await countSubKeys(client, platformKeyId)) < limits.subKeysPerPlatformMax) return
  throw invalidRequest(
    `A platform key has at most ${limits.subKeysPerPlatformMax} sub-keys; revoke one that is not used.`,
  )
}
