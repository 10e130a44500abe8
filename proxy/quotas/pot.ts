import { isLimited, type Quota } from '../../contract/catalog/quota.ts'
import { quotaKey, shardOf } from '../../contract/wire/redisKeys.ts'

/** A quota, and where its use is counted. */
export interface Pot extends Quota {
  readonly shard: number
  /** The hash in Redis. */
  readonly key: string
  /** The customer's key, account or model, in the words of errors; absent for a key of a provider. */
  readonly subject?: string
}

/** The pot of a provider's key; undefined for one without a quota. @param name unique among the keys of all providers */
export function providerKeyPot(name: string, quota: Quota): Pot | undefined {
  const { requestsPerMinute, tokensPerMinute, parallel } = quota
  if (!isLimited(quota)) return undefined
  const shard = shardOf(name)
  return { requestsPerMinute, tokensPerMinute, parallel, shard, key: quotaKey(shard, `provider:${name}`) }
}
