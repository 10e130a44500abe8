import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import { shardOf } from '../../../../contract/wire/redisKeys.ts'
import { customerQuotas, potsFor } from '../../../../proxy/quotas/customerPots.ts'

const record = (more: sluice.KeyRecord.$Properties) =>
  sluice.KeyRecord.create({ keyId: 'key_1', accountId: 'acct_1', ...more })
const names = (quotas: ReturnType<typeof customerQuotas>): string[] =>
  quotas.pots.map(({ key }) => key.replace(/^quota:\{s\d\d\}:/, ''))

test('a key without limits needs no permit, except for a model with some', () => {
  const quotas = customerQuotas(record({}))
  assert.equal(potsFor(quotas, 'm', undefined), null)
  const pots = potsFor(quotas, 'm', { requestsPerMinute: 0, tokensPerMinute: 5, parallel: 0 })
  assert.deepEqual(
    pots?.map(({ key, tokensPerMinute }) => [key.endsWith(':model:acct_1:m'), tokensPerMinute]),
    [[true, 5]],
  )
})

test('key, platform key and account have a pot each, all in the shard of the account', () => {
  const platform = { keyId: 'key_p', quota: { parallel: 3 } }
  const quotas = customerQuotas(
    record({ quota: { tokensPerMinute: 7 }, platform, accountQuota: { requestsPerMinute: 9 } }),
  )
  assert.deepEqual(names(quotas), ['key:key_1', 'key:key_p', 'account:acct_1'])
  assert.ok(quotas.pots.every(({ shard }) => shard === shardOf('acct_1')))
})

test('requests of an agent count for the account of its owner', () => {
  const quotas = customerQuotas(record({ accountId: 'agt_1', quotaAccountId: 'acct_9', accountQuota: { parallel: 1 } }))
  assert.deepEqual([names(quotas), quotas.shard], [['account:acct_9'], shardOf('acct_9')])
})
