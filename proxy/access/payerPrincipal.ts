import { NO_CAPS } from '../../contract/money/windows.ts'
import type { Address } from '../../contract/payments/address.ts'
import { payerAccountId } from '../../contract/payments/payerAccount.ts'
import { capArguments } from '../../contract/wire/caps.ts'
import { accountKeys, shardOf } from '../../contract/wire/redisKeys.ts'
import { FixedArguments } from '../../contract/wire/scriptArguments.ts'
import type { Principal } from './principal.ts'

/** No caps and no rate. */
const UNBOUND = new FixedArguments(...capArguments(NO_CAPS), '')

/** The principal of a client that pays per request: no key, no caps, no stored preferences. */
export function payerPrincipal(payer: Address): Principal {
  const accountId = payerAccountId(payer)
  const shard = shardOf(accountId)
  return {
    keyId: accountId,
    accountId,
    shard,
    paysPerRequest: true,
    paused: false,
    expiresAtMs: 0,
    models: null,
    tools: null,
    noLogs: false,
    privateTier: false,
    capturesContent: false,
    allowRetention: false,
    agent: null,
    platform: null,
    locks: null,
    requestsPerMinute: 0,
    quotas: { accountId, shard, pots: [] },
    keys: accountKeys(shard, accountId, accountId),
    ids: new FixedArguments(accountId, accountId),
    caps: UNBOUND,
    tags: '',
  }
}
