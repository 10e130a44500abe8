import type { Address } from '../../control/contract/payments/address.ts'
import { payerAccountId } from '../../control/contract/payments/payerAccount.ts'
import { accountKeys, shardOf } from '../../control/contract/redisKeys.ts'
import type { Principal } from './principal.ts'

/** Somebody who pays for a request by itself: no key, no caps, no preferences kept anywhere. */
export function payerPrincipal(payer: Address): Principal {
  const accountId = payerAccountId(payer)
  const shard = shardOf(accountId)
  return {
    ...{
      keyId: accountId,
      accountId,
      shard,
      paysPerRequest: true,
      paused: false,
      expiresAtMs: 0,
      models: null,
      tools: null,
    },
    ...{ noLogs: false, privateTier: false, allowRetention: false, retentionDefault: null },
    ...{ capHour: '', capDay: '', capMonth: '', budget: '', rate: '', agent: null, platform: null },
    ...accountKeys(shard, accountId, accountId),
  }
}
