import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import { toPrincipal } from '../../../../proxy/access/principal.ts'
import { limitsWith } from '../../../support/limits.ts'

const limits = limitsWith({ requestsPerMinute: 600, requestBurst: 20 })
const KNOWN = { keyId: 'key_1', accountId: 'acct_1', shard: 3, privacyKnown: true, settingsKnown: true }
const principalOf = (record: sluice.KeyRecord.$Properties) =>
  toPrincipal(sluice.KeyRecord.create({ ...KNOWN, ...record }), limits)

test('caps are in the order of hour, day, month and ever; one that is absent is empty, one of zero is not', () => {
  const { caps } = principalOf({
    caps: [
      { span: 'life', units: 40 },
      { span: 'hour', units: 0 },
      { span: 'month', units: 30 },
    ],
  })
  assert.deepEqual(caps.texts.slice(0, 4), ['0', '', '30', '40'])
})

const RATES: [perMinute: number, rate: string][] = [
  [0, '100000,20'],
  [5, '12000000,5'],
  [60_000_001, '1,20'],
]
for (const [requestsPerMinute, rate] of RATES) {
  test(`${requestsPerMinute} requests a minute are the rate ${rate}`, () => {
    assert.equal(principalOf({ requestsPerMinute }).caps.texts.at(-1), rate)
  })
}

test('a list without members allows everything', () => {
  const free = principalOf({})
  assert.deepEqual([free.models, free.tools, free.agent, free.platform, free.locks], [null, null, null, null, null])
  const { models, tools } = principalOf({ models: ['a'], tools: ['t'] })
  assert.deepEqual([models, tools], [new Set(['a']), new Set(['t'])])
})

test('tokens of locks are burnt by plain keys alone', () => {
  const lockSeries = ['lock_1']
  assert.deepEqual(principalOf({ lockSeries }).locks, new Set(lockSeries))
  assert.equal(principalOf({ lockSeries, privateTier: true }).locks, null)
  assert.equal(principalOf({ lockSeries, agent: {} }).locks, null)
})

test('content is captured by the word of the key alone, and never on the private tier or in no-logs mode', () => {
  const captures = (record: sluice.KeyRecord.$Properties) => principalOf(record).capturesContent
  assert.equal(captures({}), false)
  assert.equal(captures({ captureContent: true }), true)
  // Control refuses the settings together; a record that has them all the same is not believed.
  assert.equal(captures({ captureContent: true, privateTier: true }), false)
  assert.equal(captures({ captureContent: true, noLogs: true }), false)
})

test('a policy of zero is a cap, and an absent one is none', () => {
  assert.deepEqual(principalOf({ agent: { requestCapUnits: 0 } }).agent, {
    requestCapUnits: 0,
    approvalThresholdUnits: null,
  })
})

test('a sub-key counts against its platform key, in its own shard', () => {
  const { platform } = principalOf({ platform: { keyId: 'key_0', caps: [{ span: 'day', units: 9 }] } })
  assert.deepEqual(platform?.caps.texts, ['key_0', '', '9', '', ''])
  assert.match(String(platform?.countersKey), /key_0/)
})

test('a record of which a part was not read admits nothing', () => {
  assert.throws(() => principalOf({ privacyKnown: false }), { row: 'key_privacy_unavailable' })
  assert.throws(() => principalOf({ settingsKnown: false }), { row: 'settings_unavailable' })
})
