import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import type { Address } from '../../../../../../contract/payments/address.ts'
import { dueRewards, tokensOf } from '../../../../../../control/products/holders/rewards/dueRewards.ts'

const RUNS = { numRuns: 2_000 }
const address = (at: number): Address => `0x${at.toString(16).padStart(40, '0')}` as Address
const anyNanos = fc.bigInt(0n, 10n ** 15n)
const anyHolders = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 20 })

test('holders earn the pool to the last nano, and every nano is paid or carried', () => {
  fc.assert(
    fc.property(
      anyNanos,
      anyHolders,
      anyHolders,
      fc.bigInt(0n, 10n ** 12n),
      fc.gen(),
      (poolNanos, held, had, minNanos, gen) => {
        const weights = held.map((at) => ({ address: address(at), weight: gen(() => fc.bigInt(1n, 10n ** 30n)) }))
        const carried = new Map(had.map((at) => [address(at), gen(() => fc.bigInt(1n, 10n ** 12n))]))
        const rewards = dueRewards({ poolNanos, weights, carried, minNanos })
        const sum = (values: readonly bigint[]) => values.reduce((total, one) => total + one, 0n)
        const earned = sum(rewards.map(({ earnedNanos }) => earnedNanos))
        assert.equal(earned, weights.length === 0 ? 0n : poolNanos)
        const before = sum([...carried.values()])
        assert.equal(earned + before, sum(rewards.map(({ dueNanos, carriedNanos }) => dueNanos + carriedNanos)))
        for (const { dueNanos, carriedNanos } of rewards) {
          assert.ok(dueNanos === 0n || (dueNanos >= minNanos && carriedNanos === 0n))
          assert.ok(carriedNanos === 0n || carriedNanos < minNanos)
        }
      },
    ),
    RUNS,
  )
})

test('no holder gets more than the share of its weight, within one nano, in any order of holders', () => {
  fc.assert(
    fc.property(anyNanos, anyHolders, fc.gen(), (poolNanos, held, gen) => {
      const weights = held.map((at) => ({ address: address(at), weight: gen(() => fc.bigInt(1n, 10n ** 6n)) }))
      const total = weights.reduce((sum, { weight }) => sum + weight, 0n)
      const share = { poolNanos, carried: new Map<Address, bigint>(), minNanos: 0n }
      const rewards = dueRewards({ ...share, weights })
      assert.deepEqual(rewards, dueRewards({ ...share, weights: weights.toReversed() }))
      for (const { address: holder, weight } of weights) {
        const earned = rewards.find((reward) => reward.address === holder)?.earnedNanos ?? 0n
        const exact = (poolNanos * weight) / total
        assert.ok(earned === exact || earned === exact + 1n, `${earned} of ${exact}`)
      }
    }),
    RUNS,
  )
})

test('coin is sent in the smallest units of its token', () => {
  assert.equal(tokensOf(1_500_000_000n, 18), 1_500_000_000_000_000_000n)
  assert.equal(tokensOf(7n, 9), 7n)
})
