// Goal: a holder is rewarded by what it had over time: coin that is moved about, or held for no time, earns nothing more.
// Method: random transfers in a real database, read as control reads them, against a model that goes second by second.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import fc from 'fast-check'
import type { Address } from '../../../../../../contract/payments/address.ts'
import {
  collapseTransfers,
  holderPart,
  holderWeights,
} from '../../../../../../control/products/holders/rewards/holderWeights.ts'
import { createPool, type Pool } from '../../../../../../control/runtime/db/pool.ts'
import { limits, limitsWith } from '../../../../../support/limits.ts'
import { rounds } from '../../../../../support/rounds.ts'
import { freshDatabase } from '../../../../../support/services.ts'

const MINT = address(0)
const SPAN = { fromSeconds: 100, untilSeconds: 120 }

let pool: Pool
before(async () => {
  pool = createPool(await freshDatabase(), limits)
})
after(() => pool.end())

interface Moved {
  readonly seconds: number
  readonly from: number
  readonly to: number
  readonly amount: bigint
}

function address(at: number): Address {
  return `0x${at.toString(16).padStart(40, '0')}` as Address
}

async function store(moved: readonly Moved[]): Promise<void> {
  await pool.query('TRUNCATE reward_transfers, reward_balances')
  for (const [at, { seconds, from, to, amount }] of moved.entries()) {
    await pool.query('INSERT INTO reward_transfers VALUES ($1, 0, $2, $3, $4, $5)', [
      at,
      seconds,
      address(from),
      address(to),
      amount.toString(),
    ])
  }
}

const weights = async (span = SPAN) =>
  new Map((await holderWeights(pool, span, [MINT], limits)).map((one) => [one.address, one.weight]))

/** What each had, summed up over the seconds of the span. */
function model(moved: readonly Moved[]): Map<Address, bigint> {
  const sums = new Map<Address, bigint>()
  for (let second = SPAN.fromSeconds; second < SPAN.untilSeconds; second++) {
    for (const { seconds, from, to, amount } of moved) {
      if (seconds > second) continue
      for (const [who, change] of [
        [from, -amount],
        [to, amount],
      ] as const) {
        if (who !== 0) sums.set(address(who), (sums.get(address(who)) ?? 0n) + change)
      }
    }
  }
  return new Map([...sums].filter(([, weight]) => weight > 0n).sort())
}

/** Transfers of a token: mints, and moves of what is there. */
const anyMoves: fc.Arbitrary<Moved[]> = fc
  .array(
    fc.record({
      seconds: fc.integer({ min: 80, max: 130 }),
      from: fc.integer({ min: 0, max: 4 }),
      to: fc.integer({ min: 1, max: 4 }),
      part: fc.bigInt(1n, 100n),
    }),
    { maxLength: 15 },
  )
  .map((steps) => {
    const has = [0n, 0n, 0n, 0n, 0n]
    return steps
      .sort((a, b) => a.seconds - b.seconds)
      .flatMap(({ seconds, from, to, part }) => {
        const amount = from === 0 ? part : ((has[from] ?? 0n) * part) / 100n
        if (amount === 0n || from === to) return []
        if (from !== 0) has[from] = (has[from] ?? 0n) - amount
        has[to] = (has[to] ?? 0n) + amount
        return [{ seconds, from, to, amount }]
      })
  })

test('weights are balances over time, also once the transfers are merged into the balances', async () => {
  await fc.assert(
    fc.asyncProperty(anyMoves, fc.integer({ min: 80, max: 100 }), async (moved, collapsed) => {
      await store(moved)
      assert.deepEqual(await weights(), model(moved))
      await collapseTransfers(pool, collapsed)
      assert.deepEqual(await weights(), model(moved))
      const part = await holderPart(pool, SPAN, [MINT], address(1))
      assert.equal(part.weight, model(moved).get(address(1)) ?? 0n)
      assert.equal(
        part.totalWeight,
        [...model(moved).values()].reduce((sum, one) => sum + one, 0n),
      )
    }),
    { numRuns: rounds({ short: 15, long: 500 }) },
  )
})

test('a holder that moves coin in every block, or has it for no time, has no more weight than one that keeps it', async () => {
  const mint = (to: number, amount: bigint): Moved => ({ seconds: 90, from: 0, to, amount })
  const hops = Array.from(
    { length: 20 },
    (_, at): Moved => ({ seconds: 100 + at, from: at % 2 === 0 ? 2 : 3, to: at % 2 === 0 ? 3 : 2, amount: 50n }),
  )
  await store([mint(1, 50n), mint(2, 50n), ...hops])
  const found = await weights()
  assert.equal((found.get(address(2)) ?? 0n) + (found.get(address(3)) ?? 0n), found.get(address(1)))
  // There and back within a block.
  await store([
    mint(1, 50n),
    { seconds: 110, from: 1, to: 4, amount: 50n },
    { seconds: 110, from: 4, to: 1, amount: 50n },
  ])
  assert.deepEqual(await weights(), new Map([[address(1), 1_000n]]))
})

test('above the bound on holders the computation is rejected, and no holder is dropped', async () => {
  await store([1, 2, 3].map((to) => ({ seconds: 90, from: 0, to, amount: 5n })))
  await assert.rejects(holderWeights(pool, SPAN, [MINT], limitsWith({ rewardHoldersMax: 2 })), /rewardHoldersMax/)
  assert.equal((await holderWeights(pool, SPAN, [MINT, address(3)], limitsWith({ rewardHoldersMax: 2 }))).length, 2)
})
