// Goal: the permit of a provider's key is taken once for each attempt and always comes back, also when the request ends while Redis is
// asked. Method: KeyPermit over permits that the test answers.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QuotaCode } from '../../../../contract/wire/scripts.ts'
import { Permit, type PermitWaiter } from '../../../../proxy/quotas/permit.ts'
import { type Pot, providerKeyPot } from '../../../../proxy/quotas/pot.ts'
import { KeyPermit } from '../../../../proxy/upstream/keyPermit.ts'

const NO_LIMIT = { requestsPerMinute: 0, tokensPerMinute: 0, parallel: 0 }

function potOf(quota: Partial<Pot>): Pot {
  const pot = providerKeyPot('acme/a', { ...NO_LIMIT, ...quota })
  assert.ok(pot !== undefined)
  return pot
}

/** One attempt that asks for a permit; `isWanted` until the test says otherwise. */
function asked(pot: Pot, tokensMax: number) {
  const heard: string[] = []
  const ended: (number | undefined)[] = []
  const tokens: number[] = []
  const waiters: PermitWaiter[] = []
  const state = { isWanted: true }
  const keyPermit = new KeyPermit(
    {
      take: (_pots, wanted, waiter) => {
        tokens.push(wanted)
        waiters.push(waiter)
      },
    },
    tokensMax,
  )
  keyPermit.take(pot, {
    isWanted: () => state.isWanted,
    onPermit: () => heard.push('permit'),
    onFull: (waitMs) => heard.push(`full for ${waitMs}`),
    onCrashed: (error) => heard.push(String(error)),
  })
  const permit = new Permit({ end: (_permit, used) => ended.push(used) }, [pot], tokensMax, 0, [])
  const [waiter] = waiters
  assert.ok(waiter !== undefined)
  return { keyPermit, heard, ended, tokens, waiter, permit, state }
}

test('a permit is ended once, with what the attempt used', () => {
  const { keyPermit, heard, ended, waiter, permit } = asked(potOf({ parallel: 1 }), 50)
  waiter.onPermit(permit)
  keyPermit.end(7)
  keyPermit.end(0)
  assert.deepEqual([heard, ended], [['permit'], [7]])
})

test('a request that ended meanwhile gives its permit back unused, and hears nothing', () => {
  const { keyPermit, heard, ended, waiter, permit, state } = asked(potOf({ parallel: 1 }), 50)
  state.isWanted = false
  waiter.onPermit(permit)
  waiter.onDenied({ code: QuotaCode.REQUESTS, limit: 1, waitMs: 5, uses: [] })
  keyPermit.end(3)
  assert.deepEqual([heard, ended], [[], [0]])
})

test('where Redis does not answer the key is asked without a permit', () => {
  const { heard, waiter } = asked(potOf({ parallel: 1 }), 50)
  waiter.onDenied({ code: undefined, limit: 0, waitMs: 1_000, uses: [] })
  assert.deepEqual(heard, ['permit'])
})

test('a key without room is told with its wait', () => {
  const { heard, waiter } = asked(potOf({ requestsPerMinute: 1 }), 50)
  waiter.onDenied({ code: QuotaCode.REQUESTS, limit: 1, waitMs: 1_234, uses: [] })
  assert.deepEqual(heard, ['full for 1234'])
})

test('a request takes its worst case, at most the tokens of a whole minute', () => {
  assert.deepEqual(asked(potOf({ tokensPerMinute: 100 }), 99).tokens, [99])
  assert.deepEqual(asked(potOf({ tokensPerMinute: 100 }), 101).tokens, [100])
  assert.deepEqual(asked(potOf({ parallel: 1 }), 101).tokens, [101])
})

test('a key without a quota has no pot', () => {
  assert.equal(providerKeyPot('acme/a', NO_LIMIT), undefined)
})
