// Goal: half of the net revenue is earned by holders by what they had over time, to the last unit and nano; each reward is
// paid, credited or carried once, whoever else shares revenue out at the same time and wherever it breaks off; the distributor
// and the vault get what was set aside for them. Method: control's side of payments in this process, twice, over a real book
// and chain, in periods of two seconds.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { type Hex, parseAbi, parseEther } from 'viem'
import { type Address, parseAddress } from '../../contract/payments/address.ts'
import type { ApiCall } from '../../control/api/call.ts'
import { createChainClient } from '../../control/chain/chainClient.ts'
import { distributorInitCode, vaultInitCode } from '../../control/chain/deploy/initCodes.ts'
import type { HolderSettings } from '../../control/chain/holderSettings.ts'
import { type DevClient, devAccount, provideContract } from '../../control/launch/chain/deploy.ts'
import { closePeriod } from '../../control/products/holders/rewards/closePeriod.ts'
import { DISTRIBUTOR_ABI } from '../../control/products/holders/rewards/distributorContract.ts'
import { rewardHandlers } from '../../control/products/holders/rewards/rewardHandlers.ts'
import { excludedHolders } from '../../control/products/holders/startRevenue.ts'
import { VAULT_ABI } from '../../control/products/holders/vault/vaultContract.ts'
import { vaultHandlers } from '../../control/products/holders/vault/vaultHandlers.ts'
import type { Payer } from '../support/chain.ts'
import { paymentLimits } from '../support/limits.ts'
import { watched } from '../support/parts/faultyPool.ts'
import { fundedAccount, KINDS_CHECK, scalar, until } from '../support/parts/ledger.ts'
import { assetsOf, type PaymentBench, startPaymentBench } from '../support/parts/payments.ts'
import type { RunningPayments } from '../support/parts/runningPayments.ts'

const limits = { ...paymentLimits, revenueCheckMs: 50, revenueCloseDelayMs: 300, revenueRefusedMs: 200 }
const COIN = parseEther('1')
const PERIOD_SECONDS = 2
let bench: PaymentBench
/** The other control. */
let other: RunningPayments
let [alice, bob]: Payer[] = []
let settings: HolderSettings
let earned = 0

const VAULT_CALLS = parseAbi([
  'function approve(address spender, uint256 value) returns (bool)',
  'function deposit(uint256 assets, address receiver) returns (uint256)',
])

const lower = (address: string): Address => parseAddress(address) as Address

before(async () => {
  bench = await startPaymentBench({}, limits)
  const { chain } = bench
  await chain.fillTreasury()
  alice = await chain.newPayer({ coin: 300n * COIN })
  bob = await chain.newPayer({ coin: 100n * COIN })
  const { coin } = chain.contracts
  const roles = { coin, admin: devAccount(0).address, publisher: chain.relayer.address }
  const parts = { coin, name: 'Vault', symbol: 'V', vestSeconds: 100 }
  settings = {
    coin: assetsOf(chain).coin,
    vault: lower(await provideContract(chain.client, vaultInitCode(parts))),
    vaultShareBps: 0,
    distributor: lower(await provideContract(chain.client, distributorInitCode(roles))),
    rewardsFor: 'coin',
    token: lower(coin),
    fromBlock: 0,
    minNanos: 0,
    creditsAccounts: false,
    excluded: [],
    periodSeconds: PERIOD_SECONDS,
  }
  await bench.payments.stop(0)
  // Each block is a second later than the one before, however fast they are made, and the holders' coins have to be older than the periods.
  const madeAtMs = async () => Number((await chain.client.getBlock()).timestamp) * 1_000
  await until('the chain is not ahead of the clock', async () => (await madeAtMs()) < Date.now())
  await start(settings)
})
after(async () => {
  await other.stop(0)
  await bench.stop()
})

/** Both controls, with these settings. */
async function start(holders: HolderSettings): Promise<void> {
  settings = holders
  bench.payments = bench.startPayments({ holders })
  other = bench.startPayments({ holders })
  await bench.ready()
}

async function restart(changes: Partial<HolderSettings>): Promise<void> {
  await Promise.all([bench.payments.stop(0), other.stop(0)])
  await start({ ...settings, ...changes })
}

const one = <T>(sql: string, ...values: unknown[]) => scalar<T>(bench.book.pool, sql, values)
const netUnits = () => one<number>('SELECT coalesce(sum(net_units), 0) FROM revenue_periods WHERE number > 0')

/** Books revenue and waits until its period is closed; blocks are made meanwhile, as a chain does. */
async function earn(units: number): Promise<void> {
  await until('revenue counts', async () => (await one<number>('SELECT count(*) FROM revenue_periods')) > 0)
  earned += units
  const [debit, credit] = units > 0 ? ['house', 'revenue:07'] : ['revenue', 'house']
  await bench.book.pool.query(
    `INSERT INTO transfers (kind, ref, debit, credit, units) VALUES ('test_revenue', gen_random_uuid()::text, $1, $2, $3)`,
    [debit, credit, Math.abs(units)],
  )
  await until('the period is closed', async () => {
    await bench.chain.client.mine({ blocks: 1 })
    return (await netUnits()) === earned
  })
}

/** All that was set aside is sent and published; the audit is clean. */
async function settled(): Promise<void> {
  await until('what was set aside is sent', async () => {
    const open = await one<number>(`SELECT
      (SELECT count(*) FROM revenue_payouts o WHERE state = 'sending' OR (purpose = 'reward' AND NOT EXISTS (
         SELECT FROM chain_transactions t WHERE t.purpose = 'reward_root' AND split_part(t.ref, '#', 1) = o.number::text
           AND t.state = 'mined'))) + (SELECT count(*) FROM chain_transactions WHERE state = 'pending')`)
    return open === 0
  })
  await bench.settled()
  await bench.audit(KINDS_CHECK)
}

const CALL = { query: {}, params: {}, accountId: '', caller: { kind: 'nobody' } } as unknown as ApiCall

const parts = () => {
  const config = { chainId: bench.chain.chainId, holders: settings, treasury: bench.payments.config.treasury }
  const listWallets = async (_: unknown, id: string) =>
    [...bench.wallets].filter(([, account]) => account === id).map(([address]) => ({ address }))
  return rewardHandlers({
    db: bench.book.pool,
    rewards: { ...config, excluded: excludedHolders(config) },
    listWallets,
    limits,
  })
}

async function holder(address: string) {
  const { json } = await parts().get_holder_rewards.read({ ...CALL, params: { address } })
  return json as Record<string, unknown> & {
    earns: boolean
    carried_coin: string
    lifetime: Record<string, string>
    rewards: Array<{ number: number; state: string; coin: string; token_amount: string; proof: Hex[] }>
  }
}

const nanosOf = async (address: string) =>
  Number(
    await one<number>('SELECT coalesce(sum(earned_nanos), 0) FROM reward_holders WHERE address = $1', lower(address)),
  )

async function claim(
  client: DevClient,
  account: Payer,
  reward: { number: number; token_amount: string; proof: Hex[] },
) {
  const args = [BigInt(reward.number), account.address, BigInt(reward.token_amount), reward.proof] as const
  const call = {
    abi: DISTRIBUTOR_ABI,
    address: settings.distributor ?? '0x',
    functionName: 'claim',
    args,
    account,
  } as const
  await client.waitForTransactionReceipt({ hash: await client.writeContract(call) })
}

test('holders earn half of the revenue in proportion to their holdings, and claim it by proof', async () => {
  await earn(1_000_000_001)
  assert.equal(await one<number>('SELECT sum(reward_units) FROM revenue_periods'), 500_000_000)
  // A coin is half a dollar.
  const [hers, his] = [await nanosOf(alice?.address ?? ''), await nanosOf(bob?.address ?? '')]
  assert.equal(hers + his, 1_000_000_000)
  assert.equal(hers, 750_000_000)
  await settled()
  assert.ok(alice !== undefined)
  const shown = await holder(alice.address)
  assert.deepEqual([shown.earns, shown.lifetime['earned_coin'], shown.carried_coin], [true, '0.75', '0'])
  const [reward] = shown.rewards
  assert.ok(reward?.state === 'claimable')
  const had = await bench.chain.balanceOf('coin', alice.address)
  await claim(bench.chain.client, alice, reward)
  assert.equal((await bench.chain.balanceOf('coin', alice.address)) - had, (COIN * 3n) / 4n)
  await until('the claim is read', async () => {
    await bench.chain.client.mine({ blocks: 1 })
    return (await holder(alice?.address ?? '')).rewards[0]?.state === 'claimed'
  })
  const treasury = await holder(bench.chain.treasury.address)
  assert.deepEqual([treasury['is_excluded'], treasury.earns], [true, false])
})

test('rewards below the minimum are carried, and an odd unit is split in the next period; no unit is lost', async () => {
  await restart({ minNanos: 5_000_000_000 })
  await earn(3)
  await earn(1_000)
  const carried = await one<number>('SELECT sum(carried_nanos) FROM reward_holders')
  assert.equal(await one<number>('SELECT sum(reward_units) FROM revenue_periods'), Math.floor(earned / 2))
  assert.ok(carried > 0)
  assert.equal(await one<number>(`SELECT balance FROM ledger_accounts WHERE id = 'rewards'`), carried)
  // More goes out than comes in, which is made up for first.
  await earn(-500)
  await earn(600)
  assert.equal(await one<number>('SELECT sum(reward_units) FROM revenue_periods'), Math.floor(earned / 2))
  await restart({ minNanos: 1 })
  await earn(2_000)
  await settled()
  assert.equal(await one<number>('SELECT sum(carried_nanos) FROM reward_holders'), 0)
  assert.equal(await one<number>(`SELECT balance FROM ledger_accounts WHERE id = 'rewards'`), 0)
})

test('wallets of accounts are credited if so configured, once, and are named in the period', async () => {
  const accountId = await fundedAccount(bench.book, 1_000)
  bench.wallets.set(lower(alice?.address ?? ''), accountId)
  await restart({ creditsAccounts: true })
  await earn(8_000)
  await settled()
  const had = await one<number>('SELECT balance FROM ledger_accounts WHERE id = $1', `coin:${accountId}`)
  assert.ok(had > 1_000, `${had}`)
  const { json } = await parts().get_rewards.read({ ...CALL, query: { limit: 100 } })
  const [period] = (
    json as { data: Array<{ credited_wallets: string[]; credited_coin: string; reward: { units: string } }> }
  ).data.filter(({ reward }) => reward.units !== '0')
  assert.deepEqual(period?.credited_wallets, [alice?.address])
  const own = await parts().get_own_rewards.read({ ...CALL, accountId })
  assert.equal((own.json as { data: Array<{ address: string }> }).data[0]?.address, alice?.address)
  bench.wallets.clear()
  await restart({ creditsAccounts: false })
})

test('a period whose transaction fails at any statement is still closed once', async () => {
  await Promise.all([bench.payments.stop(0), other.stop(0)])
  const { pool } = bench.book
  await pool.query(
    `INSERT INTO transfers (kind, ref, debit, credit, units, at)
     SELECT 'test_revenue', gen_random_uuid()::text, 'house', 'revenue', 4000, ends_at FROM revenue_periods ORDER BY number DESC LIMIT 1`,
  )
  earned += 4_000
  // Transfers are read up to there: no block has moved coin since.
  await pool.query('UPDATE reward_scan SET block_time = extract(epoch FROM clock_timestamp())::bigint + 3600')
  const options = {
    settings,
    excluded: excludedHolders({ treasury: bench.payments.config.treasury, holders: settings }),
    coinUsdUnits: async () => 500_000_000,
    accountsOfWallets: async () => new Map(),
    limits,
  }
  const isOver = `SELECT clock_timestamp() > max(ends_at) + $1 * interval '1 ms' FROM revenue_periods`
  const overMs = 2 * PERIOD_SECONDS * 1_000 + limits.revenueCloseDelayMs
  await until('the next period is over', () => one<boolean>(isOver, overMs))
  const before = await one<number>('SELECT count(*) FROM revenue_periods')
  let statements = 0
  for (let breaksAt = 1; ; breaksAt++) {
    let seen = 0
    const breaking = watched(pool, () => async () => {
      if (++seen === breaksAt) throw new Error('the connection broke')
    })
    const closed = await closePeriod(breaking, options).catch(() => undefined)
    statements = breaksAt
    if (closed !== undefined || (await one<number>('SELECT count(*) FROM revenue_periods')) > before) break
    assert.equal(await one<number>(`SELECT count(*) FROM reward_shares WHERE number >= $1`, before), 0)
  }
  assert.ok(statements > 10, `${statements} statements`)
  assert.equal(await one<number>('SELECT count(*) FROM revenue_periods'), before + 1)
  assert.equal(await netUnits(), earned)
  await pool.query('UPDATE reward_scan SET block_time = NULL, block = base_block, hash = base_hash')
  await start(settings)
  await bench.chain.client.mine({ blocks: 1 })
  await settled()
})

test('the vault gets its part of the revenue, which vests, and the API reports it', async () => {
  assert.ok(bob !== undefined && settings.vault !== null)
  const { client, contracts } = bench.chain
  const args = [settings.vault, 50n * COIN] as const
  const approve = { address: contracts.coin, abi: VAULT_CALLS, functionName: 'approve', args, account: bob } as const
  await client.waitForTransactionReceipt({ hash: await client.writeContract(approve) })
  const deposit = {
    address: settings.vault,
    abi: VAULT_CALLS,
    functionName: 'deposit',
    args: [50n * COIN, bob.address],
    account: bob,
  } as const
  await client.waitForTransactionReceipt({ hash: await client.writeContract(deposit) })
  await restart({ vaultShareBps: 1_000 })
  await earn(10_000_000_000)
  await settled()
  await until('revenue vests', async () => {
    const call = { address: settings.vault ?? '0x', abi: VAULT_ABI } as const
    const pending = await client.readContract({ ...call, functionName: 'pendingRevenue' })
    return pending === 0n && (await client.readContract({ ...call, functionName: 'unvested' })) > 0n
  })
  const chain = createChainClient(bench.chain.rpcUrl, limits)
  const payments = { config: { chainId: bench.chain.chainId, holders: settings }, chain }
  const { json } = await vaultHandlers({ db: bench.book.pool, payments, limits }).get_vault.read(CALL)
  const shown = json as Record<string, unknown> & {
    deposits: Array<{ coin: string; transaction: Hex }>
    tvl: { coin: string }
    yield: unknown
  }
  // A tenth of ten dollars at half a dollar a coin.
  assert.equal(shown.deposits[0]?.coin, '2')
  assert.ok(Number(shown.tvl.coin) >= 50 && Number(shown.tvl.coin) < 52, shown.tvl.coin)
  assert.deepEqual(shown.yield, { days_7: null, days_30: null })
  await settled()
})
