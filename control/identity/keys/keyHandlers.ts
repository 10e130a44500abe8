import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { isId } from '../../../contract/wire/ids.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import type { ApiCall, ReadHandler, WriteHandler } from '../../api/call.ts'
import { listJson, pageOf } from '../../api/lists.ts'
import { refuseTooMany } from '../../book/ledger/refuseTooMany.ts'
import { announceKeyChanges } from '../../runtime/bus/announceKeyChanges.ts'
import { countOf } from '../../runtime/db/count.ts'
import type { Client, Pool, Queryable } from '../../runtime/db/pool.ts'
import type { IdentityLimits } from '../limits.ts'
import { changeKey, endKey, makeKey } from './keyChanges.ts'
import { keyLimits } from './keyLimits.ts'
import type { ApiKey } from './keyRow.ts'
import { keyOf, pageOfKeys, UnknownKeyError } from './keys.ts'
import { readSettings } from './readSettings.ts'
import { keyJson } from './settingsJson.ts'

type KeyOperation = 'list_keys' | 'create_key' | 'update_key' | 'revoke_key' | 'get_key_limits'

/** The endpoints of an account's keys. */
export function keyHandlers(
  pool: Pool,
  redis: Redis,
  limits: IdentityLimits,
): Record<KeyOperation, ReadHandler | WriteHandler<unknown>> {
  const afterCommit = () => announceKeyChanges(pool, redis, limits)
  return {
    list_keys: {
      read: async (call) => {
        const { limit, after } = pageOf(call, limits)
        const keys = await pageOfKeys(pool, call.accountId, limit + 1, after)
        return { json: listJson(keys.map(keyJson), limit) }
      },
    },
    create_key: {
      write: async (call, client) => {
        const settings = await readSettings(client, call.body, limits)
        const max = limits.keysPerAccountMax
        const refusal = () => invalidRequest(`An account has at most ${max} keys; revoke one that is not used.`)
        await refuseTooMany(client, call.accountId, countKeys, max, refusal)
        const { key, secret } = await makeKey(client, call.actor, call.accountId, settings)
        const json = keyJson(key)
        return {
          status: 201,
          json: { ...json, api_key: secret },
          repeatJson: { ...json, api_key: null },
        }
      },
    },
    update_key: {
      write: async (call, client) => {
        const settings = await readSettings(client, call.body, limits)
        const before = await ownKey(client, call)
        if (before.revokedAtMs !== null) throw revoked()
        const key = await changeKey(client, call.actor, before.id, settings).catch((error: unknown) => {
          throw error instanceof UnknownKeyError ? revoked() : error
        })
        return { json: keyJson(key), afterCommit }
      },
    },
    revoke_key: {
      write: async (call, client) => {
        const key = await endKey(client, call.actor, (await ownKey(client, call)).id)
        return { json: { object: 'api_key', id: key.id, deleted: true }, afterCommit }
      },
    },
    get_key_limits: {
      read: async (call) => {
        const key = await ownKey(pool, call)
        if (key.revokedAtMs !== null) throw revoked()
        return { json: await keyLimits(redis, key) }
      },
    },
  }
}

const revoked = () => new GatewayError('key_not_found', { message: 'This key was revoked; create a new one.' })

/** The key that the path names. @throws GatewayError key_not_found, or permission_denied for someone else's */
async function ownKey(db: Queryable, call: ApiCall): Promise<ApiKey> {
  const id = call.params['id'] ?? ''
  const key = isId('key', id) ? await keyOf(db, id) : undefined
  if (key === undefined) throw new GatewayError('key_not_found')
  if (key.accountId !== call.accountId) throw new GatewayError('permission_denied')
  return key
}

/** The keys of an account that are not revoked, without sub-keys of its platform keys. */
async function countKeys(client: Client, accountId: string): Promise<number> {
  return countOf(
    client,
    'SELECT count(*) FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL AND platform_key_id IS NULL',
    [accountId],
  )
}
