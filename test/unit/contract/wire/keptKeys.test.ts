import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { hashSecret, newSecret } from '../../../../contract/wire/ids.ts'
import { KEY_RECORD_FORM, keptKey } from '../../../../contract/wire/keptKeys.ts'
import { projectRoot } from '../../../../control/launch/paths.ts'

const proto = readFileSync(join(projectRoot, 'contract/wire/messages.proto'), 'utf8')

/** The fields of a message, as `name number`. */
function fieldsOf(message: string): string {
  const body = new RegExp(`^message ${message} \\{\\n(.*?)^\\}`, 'ms').exec(proto)?.[1] ?? assert.fail(message)
  const fields = body.matchAll(/^\s*(?!\/\/)(?:\w+ )?\w+ (\w+) = (\d+);/gm)
  return [...fields].map(([, name, number]) => `${name} ${number}`).join(', ')
}

test('the form of kept records is another one whenever their messages have other fields', () => {
  const forms = {
    form: KEY_RECORD_FORM,
    KeyRecord: fieldsOf('KeyRecord'),
    PlatformRecord: fieldsOf('PlatformRecord'),
    QuotaRecord: fieldsOf('QuotaRecord'),
    AgentPolicy: fieldsOf('AgentPolicy'),
    Cap: fieldsOf('Cap'),
  }
  // Whoever changes the fields raises KEY_RECORD_FORM.
  assert.deepEqual(forms, {
    form: 3,
    KeyRecord:
      'key_id 1, account_id 2, shard 3, paused 4, models 9, no_logs 10, private_tier 11, allow_retention 12, ' +
      'requests_per_minute 13, expires_at_ms 14, tools 15, privacy_known 18, settings_known 17, agent 30, platform 31, ' +
      'lock_series 32, caps 33, quota 40, account_quota 41, quota_account_id 42, tags 430, capture_content 431',
    PlatformRecord: 'key_id 1, caps 6, quota 7',
    QuotaRecord: 'requests_per_minute 1, tokens_per_minute 2, parallel 3',
    AgentPolicy: 'request_cap_units 1, approval_threshold_units 2',
    Cap: 'span 1, units 2',
  })
})

test('the name of a record in Redis does not show the hash of its key, which acts as a credential on the bus', () => {
  const keyHash = hashSecret(newSecret('sk'))
  const { recordKey, epochKey } = keptKey(keyHash)
  assert.equal(recordKey.includes(keyHash), false)
  assert.deepEqual(keptKey(keyHash), keptKey(keyHash))
  assert.equal(/\{s\d\d\}/.exec(recordKey)?.[0], /\{s\d\d\}/.exec(epochKey)?.[0])
})
