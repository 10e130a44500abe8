import { isLimited, type Quota } from '../../contract/catalog/quota.ts'
import type { sluice } from '../../contract/wire/generated/messages.js'
import { quotaKey, shardOf } from '../../contract/wire/redisKeys.ts'
import type { Pot } from './pot.ts'

/** The limits of a key's requests, beside those of a model. */
export interface CustomerQuotas {
  /** The account that the limits of an account and of a model count for: of an agent's key, its owner's. */
  readonly accountId: string
  readonly shard: number
  /** Of the key, its platform key and the account; none for most keys. */
  readonly pots: readonly Pot[]
}

/** The limited subjects, in the words of errors. */
const SUBJECT = {
  key: 'The key',
  platform: 'The platform key',
  account: 'The account',
  model: 'The account on this model',
}

/** The limits of a key by its record. */
export function customerQuotas(record: sluice.KeyRecord): CustomerQuotas {
  const accountId = record.quotaAccountId || record.accountId
  const shard = shardOf(accountId)
  const { keyId, platform } = record
  // A platform key counts its own requests where its sub-keys count theirs.
  const found = [
    potOf(shard, `key:${keyId}`, SUBJECT.key, record.quota),
    potOf(shard, `key:${platform?.keyId ?? ''}`, SUBJECT.platform, platform?.quota),
    potOf(shard, `account:${accountId}`, SUBJECT.account, record.accountQuota),
  ]
  return { accountId, shard, pots: found.filter((pot) => pot !== undefined) }
}

/** The pots that a request needs; null for a request without limits, as nearly all are. */
export function potsFor(
  { accountId, shard, pots }: CustomerQuotas,
  modelId: string,
  quota: Quota | undefined,
): readonly Pot[] | null {
  if (quota === undefined) return pots.length === 0 ? null : pots
  return [...pots, { shard, key: quotaKey(shard, `model:${accountId}:${modelId}`), subject: SUBJECT.model, ...quota }]
}

/** A quota of a record; undefined where it limits nothing. */
export function quotaOf(record: sluice.QuotaRecord.$Properties | null | undefined): Quota | undefined {
  const { requestsPerMinute, tokensPerMinute, parallel } = record ?? {}
  const quota = {
    requestsPerMinute: requestsPerMinute ?? 0,
    tokensPerMinute: tokensPerMinute ?? 0,
    parallel: parallel ?? 0,
  }
  return isLimited(quota) ? quota : undefined
}

function potOf(
  shard: number,
  name: string,
  subject: string,
  record: sluice.QuotaRecord.$Properties | null | undefined,
): Pot | undefined {
  const quota = quotaOf(record)
  return quota && { ...quota, shard, key: quotaKey(shard, name), subject }
}
