// Goal: a period sets aside the exact coin for its rewards, also where that is more than a JavaScript number can hold, and it
// closes although no account could hold a reward. Method: periods that are over, over a real book without a chain.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Address } from '../../../../../../contract/payments/address.ts'
import { type CloseOptions, closePeriod } from '../../../../../../control/products/holders/rewards/closePeriod.ts'
import { movePayout } from '../../../../../../control/products/holders/rewards/payoutRow.ts'
import { withTransaction } from '../../../../../../control/runtime/db/pool.ts'
import { paymentLimits } from '../../../../../support/limits.ts'
import {
  assertCleanAudit,
  type Book,
  dispatchEvents,
  fundedAccount,
  KINDS_CHECK,
  scalar,
  startBook,
} from '../../../../../support/parts/ledger.ts'

const PERIOD_SECONDS = 60
/** One coin costs 0.001 USD, the lowest price there is: a unit buys 1,000 nanos. */
const LOWEST_PRICE = 1_000_000
const BORDER = BigInt(Number.MAX_SAFE_INTEGER)
const address = (digit: string): Address => `0x${digit.repeat(40)}` as Address
const [HOLDER, OTHER] = [address('a'), address('b')]

test('rewards around and above 2^53 nanos are set aside, divided and moved exactly', async (t) => {
  const book = await startBook()
  t.after(() => book.stop())
  const accountId = await fundedAccount(book, 1_000)
  const firstEnd = Math.floor(Date.now() / 1_000 / PERIOD_SECONDS) * PERIOD_SECONDS - 600
  await beginAt(book, firstEnd)
  // Half of each is the account's. The first leaves no room for the second, and no account has room for the third.
  const periods = [
    { rewardUnits: BORDER / 1_000n, isCredited: true },
    { rewardUnits: BORDER / 1_000n + 1n, isCredited: false },
    { rewardUnits: BORDER / 100n, isCredited: false },
    { rewardUnits: 7n, isCredited: true },
  ]
  for (const [at, { rewardUnits, isCredited }] of periods.entries()) {
    await earn(book, 2n * rewardUnits, firstEnd + at * PERIOD_SECONDS + 1)
    const period = await closePeriod(book.pool, optionsWith(accountId))
    assert.ok(period)
    assert.equal(period.rewardUnits, rewardUnits)
    assert.equal(period.rewardNanos, rewardUnits * 1_000n)
    assert.equal(period.paidNanos + period.creditedNanos, rewardUnits * 1_000n)
    assert.equal(period.creditedNanos > 0n, isCredited, `period ${period.number}`)
  }
  const owed = await scalar<string>(book.pool, `SELECT balance::text FROM ledger_accounts WHERE id = 'rewards'`)
  const credited = await scalar<string>(book.pool, 'SELECT sum(credited_nanos)::text FROM revenue_periods')
  assert.equal(
    BigInt(owed),
    periods.reduce((sum, { rewardUnits }) => sum + rewardUnits * 1_000n, 0n) - BigInt(credited),
  )
  await dispatchEvents(book)
  await assertCleanAudit(book, KINDS_CHECK)
  // The chain makes the largest payout, and takes it back.
  for (const state of ['sent', 'sending'] as const) {
    await withTransaction(book.pool, (client) => movePayout(client, 'reward', '3#1', state))
    const moved = state === 'sent' ? (BORDER / 100n) * 1_000n : 0n
    const now = await scalar<string>(book.pool, `SELECT balance::text FROM ledger_accounts WHERE id = 'rewards'`)
    assert.equal(BigInt(owed) - BigInt(now), moved)
  }
  await assertCleanAudit(book, KINDS_CHECK)
})

test('the pay of registered providers is not part of what a period shares out', async (t) => {
  const book = await startBook()
  t.after(() => book.stop())
  const accountId = await fundedAccount(book, 1_000)
  const firstEnd = Math.floor(Date.now() / 1_000 / PERIOD_SECONDS) * PERIOD_SECONDS - 600
  await beginAt(book, firstEnd)
  await earn(book, 1_000n, firstEnd + 1)
  await payProvider(book, 400, firstEnd + 2)
  // Pay for receipts of the first period that is booked in the second, which takes in less than that.
  await earn(book, 50n, firstEnd + PERIOD_SECONDS + 1)
  await payProvider(book, 70, firstEnd + PERIOD_SECONDS + 1)
  await earn(book, 120n, firstEnd + 2 * PERIOD_SECONDS + 1)
  for (const expected of [
    { netUnits: 600n, deficitUnits: 0n, rewardUnits: 300n },
    { netUnits: -20n, deficitUnits: 20n, rewardUnits: 0n },
    { netUnits: 120n, deficitUnits: 0n, rewardUnits: 50n },
  ]) {
    const period = await closePeriod(book.pool, optionsWith(accountId))
    assert.ok(period)
    const { netUnits, deficitUnits, rewardUnits } = period
    assert.deepEqual({ netUnits, deficitUnits, rewardUnits }, expected)
  }
  await dispatchEvents(book)
  await assertCleanAudit(book, KINDS_CHECK)
})

function optionsWith(accountId: string): CloseOptions {
  return {
    settings: {
      coin: {
        id: 'coin',
        address: address('c'),
        decimals: 18,
        name: 'C',
        version: '1',
        method: 'eip3009',
        usdUnits: 0,
      },
      vault: null,
      vaultShareBps: 0,
      distributor: address('d'),
      rewardsFor: 'coin',
      token: address('c'),
      fromBlock: 0,
      minNanos: 0,
      creditsAccounts: true,
      excluded: [],
      periodSeconds: PERIOD_SECONDS,
    },
    excluded: [],
    coinUsdUnits: async () => LOWEST_PRICE,
    accountsOfWallets: async () => new Map([[HOLDER, accountId]]),
    limits: { ...paymentLimits, revenueCloseDelayMs: 0 },
  }
}

/** Revenue counts from a moment on; the transfers of the token, of which two wallets have as much, are read up to now. */
async function beginAt({ pool }: Book, seconds: number): Promise<void> {
  await pool.query(
    `INSERT INTO revenue_periods (number, starts_at, ends_at, total_units, net_units, deficit_units, reward_units, reward_rest,
       vault_units, vault_rest, vault_bps, coin_usd_units, reward_nanos, vault_nanos, pool_nanos, earned_nanos, paid_nanos,
       credited_nanos, carried_nanos, holders, min_nanos, excluded)
     VALUES (0, to_timestamp($1), to_timestamp($1), 0, 0, 0, 0, 0, 0, 0, 0, $2, 0, 0, 0, 0, 0, 0, 0, 0, 0, '{}')`,
    [seconds, LOWEST_PRICE],
  )
  await pool.query(`INSERT INTO reward_balances (address, amount) VALUES ($1, 5), ($2, 5)`, [HOLDER, OTHER])
  await pool.query(
    `INSERT INTO reward_scan (token, block, base_block, block_time) VALUES ($1, 1, 1, extract(epoch FROM now())::bigint)`,
    [address('c')],
  )
}

async function payProvider({ pool }: Pick<Book, 'pool'>, units: number, seconds: number): Promise<void> {
  await pool.query(
    `INSERT INTO transfers (kind, ref, debit, credit, units, at)
     VALUES ('test_pay', gen_random_uuid()::text, 'provider_cost', 'house', $1, to_timestamp($2))`,
    [units, seconds],
  )
}

async function earn({ pool }: Book, units: bigint, seconds: number): Promise<void> {
  await pool.query(
    `INSERT INTO transfers (kind, ref, debit, credit, units, at)
     VALUES ('test_revenue', gen_random_uuid()::text, 'house', 'revenue:07', $1, to_timestamp($2))`,
    [units.toString(), seconds],
  )
}
