import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { splitRevenue } from '../../../../../../control/products/holders/rewards/splitRevenue.ts'

const NONE = { deficitUnits: 0n, rewardRest: 0n, vaultRest: 0n }

test('over all periods holders get half of the income less the expenses, to the last unit', () => {
  const anyNets = fc.array(fc.bigInt(-(10n ** 6n), 10n ** 9n), { minLength: 1, maxLength: 30 })
  fc.assert(
    fc.property(anyNets, fc.integer({ min: 0, max: 5_000 }), (nets, bps) => {
      let [rests, rewards, vault, shared] = [NONE, 0n, 0n, 0n]
      let [sum, highest] = [0n, 0n]
      for (const net of nets) {
        const split = splitRevenue(net, rests, true, bps)
        assert.ok(split.rewardUnits >= 0n && split.vaultUnits >= 0n)
        rewards += split.rewardUnits
        vault += split.vaultUnits
        sum += net
        highest = sum > highest ? sum : highest
        // What was shared out cannot be taken back, so all that is shared is the highest sum that ever was.
        shared = highest
        assert.equal(rewards, shared / 2n)
        assert.equal(vault, (shared * BigInt(bps)) / 10_000n)
        rests = split
      }
    }),
    { numRuns: 2_000 },
  )
})

test('if no rewards are paid, no rewards are set aside', () => {
  assert.deepEqual(splitRevenue(11n, NONE, false, 5_000), {
    rewardUnits: 0n,
    vaultUnits: 5n,
    deficitUnits: 0n,
    rewardRest: 0n,
    vaultRest: 5_000n,
  })
})
