import { isLimited } from '../../../contract/catalog/quota.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import type { Caller } from '../../api/call.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { type KeyInForce, keyInForce } from './keyInForce.ts'

/**
 * The caller of the account API that sends a key.
 * @param keyHash as from `hashSecret`
 * @returns undefined for a key that is not in force
 * @throws GatewayError key_paused
 */
export async function keyCaller(db: Queryable, keyHash: string): Promise<Caller | undefined> {
  const key = await keyInForce(db, keyHash)
  if (key === undefined) return undefined
  if (key.paused) throw new GatewayError('key_paused')
  const caller = {
    kind: 'key',
    keyId: key.id,
    accountId: key.accountId,
    caps: key.caps,
    isRestricted: isRestricted(key),
    canTransfer: key.canTransfer,
    isSubKey: key.platformKeyId !== null,
  } as const
  return key.platform ? { ...caller, platform: { keyId: key.platform.id, caps: key.platform.caps } } : caller
}

/** Whether a key may do less than its account may. */
function isRestricted(key: KeyInForce): boolean {
  const isCapped = isLimited(key) || Object.values(key.caps).some((cap) => cap !== null)
  const isListed = key.models.length > 0 || key.tools.length > 0
  const isPrivate = key.noLogs || key.privateTier || key.allowRetention === false
  return isCapped || isListed || isPrivate || !key.canTransfer || key.platformKeyId !== null || key.expiresAtMs !== null
}
