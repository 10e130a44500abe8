// Goal: a sub-key may do what both it and its platform key may, and nothing else. Method: random settings of both.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bySpan } from '../../../../../contract/money/windows.ts'
import type { ApiKey } from '../../../../../control/identity/keys/keyRow.ts'
import { withinPlatform } from '../../../../../control/identity/keys/withinPlatform.ts'

const IDS = ['a', 'b', 'c', 'd']
const bound = fc.option(fc.integer({ min: 1, max: 1_000 }), { nil: null })
const key: fc.Arbitrary<ApiKey> = fc.record({
  id: fc.constant('key_1'),
  accountId: fc.constant('acct_1'),
  hash: fc.constant('hash'),
  last4: fc.constant('last'),
  name: fc.constant(''),
  paused: fc.boolean(),
  caps: fc.record(bySpan(() => bound)),
  models: fc.subarray(IDS),
  tools: fc.subarray(IDS),
  noLogs: fc.boolean(),
  privateTier: fc.boolean(),
  captureContent: fc.boolean(),
  allowRetention: fc.constantFrom(true, false, null),
  canTransfer: fc.boolean(),
  requestsPerMinute: fc.nat(3),
  tokensPerMinute: fc.nat(3),
  parallel: fc.nat(3),
  expiresAtMs: bound,
  revokedAtMs: fc.constant(null),
  createdAtMs: fc.constant(0),
  isPlatform: fc.constant(false),
  platformKeyId: fc.constant(null),
  tags: fc.constant('' as const),
  platformUser: fc.constant(''),
})

const allows = (list: readonly string[], id: string): boolean => list.length === 0 || list.includes(id)
const orNone = (value: number | null): number => value || Number.POSITIVE_INFINITY

test('a sub-key has the permissions that both keys have', () => {
  fc.assert(
    fc.property(key, key, (own, platform) => {
      const bounded = withinPlatform(own, platform)
      for (const id of IDS) {
        assert.equal(allows(bounded.models, id), allows(own.models, id) && allows(platform.models, id))
        assert.equal(allows(bounded.tools, id), allows(own.tools, id) && allows(platform.tools, id))
      }
      for (const flag of ['paused', 'noLogs', 'privateTier'] as const) {
        assert.equal(bounded[flag], own[flag] || platform[flag])
      }
      assert.equal(bounded.allowRetention === true, own.allowRetention !== false && platform.allowRetention === true)
      assert.equal(bounded.allowRetention === false, own.allowRetention === false || platform.allowRetention === false)
      assert.equal(bounded.canTransfer, false)
      // It says so itself, whatever its platform key says, and nobody whose key is private can be captured.
      assert.equal(bounded.captureContent, own.captureContent && !bounded.noLogs && !bounded.privateTier)
      for (const name of ['requestsPerMinute', 'tokensPerMinute', 'parallel', 'expiresAtMs'] as const) {
        assert.equal(orNone(bounded[name]), Math.min(orNone(own[name]), orNone(platform[name])))
      }
      assert.deepEqual(bounded.caps, own.caps, 'the caps of the platform key are counted by themselves')
    }),
  )
})
