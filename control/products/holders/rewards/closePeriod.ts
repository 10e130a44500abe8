import { nanosBoughtFor } from '../../../../contract/money/coin.ts'
import type { Address } from '../../../../contract/payments/address.ts'
import { coinAccount, REVENUE, REWARDS, VAULT } from '../../../book/ledger/accounts.ts'
import { lockAccounts } from '../../../book/ledger/appendAdmissionEvent.ts'
import { creditCoin } from '../../../book/ledger/creditCoin.ts'
import { lockLedgerAccounts } from '../../../book/ledger/lockLedgerAccounts.ts'
import { postTransfers } from '../../../book/ledger/postTransfers.ts'
import type { HolderSettings } from '../../../chain/holderSettings.ts'
import { type Client, type Pool, withTransaction } from '../../../runtime/db/pool.ts'
import type { HoldersLimits } from '../limits.ts'
import { withRoom } from './creditRoom.ts'
import { type DueReward, dueRewards, tokensOf } from './dueRewards.ts'
import { carriedNanos, storeRewards } from './holderRow.ts'
import { collapseTransfers, holderWeights } from './holderWeights.ts'
import { insertPayout } from './payoutRow.ts'
import { insertPeriod, lastPeriod, type RevenuePeriod } from './periodRow.ts'
import { nextSpan, type PeriodSpan } from './periodSpan.ts'
import { REWARD_SHARE, revenueTotal, VAULT_SHARE } from './revenueTotal.ts'
import { type RewardTree, rewardTree } from './rewardTree.ts'
import { splitRevenue } from './splitRevenue.ts'

/** Kind of the transfers by which rewards become coin of accounts. */
const REWARD_CREDIT = 'reward_credit'

export interface CloseOptions {
  readonly settings: HolderSettings
  /** Addresses that get no rewards. */
  readonly excluded: readonly Address[]
  /** USD of one coin in units. */
  readonly coinUsdUnits: (client: Client) => Promise<number>
  /** The accounts that wallets are linked to, by address. */
  readonly accountsOfWallets: (client: Client, addresses: readonly Address[]) => Promise<ReadonlyMap<Address, string>>
  readonly limits: HoldersLimits
}

/** The division of a reward. */
interface Rewarded {
  readonly poolNanos: bigint
  readonly rewards: readonly DueReward[]
  /** Whose coin a reward is credited to, by address. */
  readonly accounts: ReadonlyMap<Address, string>
  readonly tree: RewardTree | undefined
}

/** A finished period, with everything to store for it. */
interface Closing {
  readonly period: RevenuePeriod
  readonly span: PeriodSpan
  readonly rewarded: Rewarded
}

/**
 * Closes the period after the last one, when it is over: takes the shares out of the revenue and divides the rewards among
 * holders, all in one transaction. The inputs are read before the transaction, because a tree of many leaves takes long; they
 * do not change any more. The first call opens the count. Calls must not run concurrently.
 * @returns the period; undefined while none is due
 * @throws errors of PostgreSQL, also where another control closes the same period
 */
export async function closePeriod(pool: Pool, options: CloseOptions): Promise<RevenuePeriod | undefined> {
  const before = await lastPeriod(pool)
  if (before === undefined) return withTransaction(pool, (client) => openCount(client, options))
  const span = nextSpan(before.endsAt, options.settings.periodSeconds)
  const shared = await withTransaction(pool, async (client) =>
    (await isDue(client, span, options)) ? sharesOf(client, before, span, options) : undefined,
  )
  if (shared === undefined) return undefined
  const tree = await treeOf(shared.rewarded, options)
  const closing = { span, period: { ...shared.period, root: tree?.nodes[0] }, rewarded: { ...shared.rewarded, tree } }
  await withTransaction(pool, (client) => store(client, closing, options.settings))
  return closing.period
}

/** Revenue counts from the beginning of the period that runs. */
async function openCount(client: Client, { settings, coinUsdUnits }: CloseOptions): Promise<RevenuePeriod> {
  const now = await client.query<{ now: Date }>('SELECT clock_timestamp() AS now')
  const lengthMs = settings.periodSeconds * 1_000
  const startMs = Math.floor((now.rows[0]?.now ?? new Date()).getTime() / lengthMs) * lengthMs
  const at = new Date(startMs)
  const opening: RevenuePeriod = {
    ...EMPTY,
    startsAt: at,
    endsAt: at,
    totalUnits: await revenueTotal(client, at),
    coinUsdUnits: await coinUsdUnits(client),
  }
  await insertPeriod(client, opening)
  return opening
}

const NO_REWARDS = { earnedNanos: 0n, paidNanos: 0n, creditedNanos: 0n, carriedNanos: 0n, holders: 0, root: undefined }
const EMPTY = {
  ...NO_REWARDS,
  number: 0,
  netUnits: 0n,
  deficitUnits: 0n,
  rewardUnits: 0n,
  rewardRest: 0n,
  vaultUnits: 0n,
  vaultRest: 0n,
  vaultBps: 0,
  rewardNanos: 0n,
  vaultNanos: 0n,
  poolNanos: 0n,
  minNanos: 0,
  excluded: [],
}

/** A period is due when all that was being booked at its end is booked, and all transfers up to it are read. */
async function isDue(client: Client, { endsAt }: PeriodSpan, { settings, limits }: CloseOptions): Promise<boolean> {
  const found = await client.query<{ over: boolean; read: boolean }>(
    `SELECT clock_timestamp() >= $1::timestamptz + $2 * interval '1 ms' AS over,
       coalesce((SELECT block_time >= extract(epoch FROM $1::timestamptz) FROM reward_scan), false) AS read`,
    [endsAt, limits.revenueCloseDelayMs],
  )
  const { over = false, read = false } = found.rows[0] ?? {}
  return over && (read || settings.distributor === null)
}

async function sharesOf(
  client: Client,
  before: RevenuePeriod,
  span: PeriodSpan,
  options: CloseOptions,
): Promise<Pick<Closing, 'period' | 'rewarded'>> {
  const { settings, excluded } = options
  const totalUnits = await revenueTotal(client, span.endsAt)
  const netUnits = totalUnits - before.totalUnits
  const split = splitRevenue(netUnits, before, settings.distributor !== null, settings.vaultShareBps)
  const coinUsdUnits = await options.coinUsdUnits(client)
  const shares = {
    rewardNanos: nanosBoughtFor(split.rewardUnits, coinUsdUnits),
    vaultNanos: nanosBoughtFor(split.vaultUnits, coinUsdUnits),
  }
  const unearned = before.poolNanos - before.earnedNanos
  const rewarded = await share(client, span, shares.rewardNanos + unearned, options)
  const period: RevenuePeriod = {
    number: before.number + 1,
    startsAt: span.startsAt,
    endsAt: span.endsAt,
    totalUnits,
    netUnits,
    ...split,
    ...shares,
    ...totalsOf(rewarded),
    vaultBps: settings.vaultShareBps,
    coinUsdUnits,
    minNanos: settings.minNanos,
    excluded,
    root: undefined,
  }
  return { period, rewarded }
}

async function store(client: Client, { period, span, rewarded }: Closing, settings: HolderSettings): Promise<void> {
  await insertPeriod(client, period)
  await storeRewards(client, period.number, rewarded.rewards, rewarded.tree, rewarded.accounts)
  await collapseTransfers(client, span.untilSeconds)
  await client.query('UPDATE reward_scan SET base_block = block, base_hash = hash, base_time = block_time')
  await book(client, period, rewarded)
  await setAside(client, period, settings)
}

async function share(client: Client, span: PeriodSpan, poolNanos: bigint, options: CloseOptions): Promise<Rewarded> {
  const { settings, excluded, accountsOfWallets, limits } = options
  const none = { poolNanos, rewards: [], accounts: new Map<Address, string>(), tree: undefined }
  if (settings.distributor === null) return none
  const weights = await holderWeights(client, span, excluded, limits)
  const carried = await carriedNanos(client)
  const rewards = dueRewards({ poolNanos, weights, carried, minNanos: BigInt(settings.minNanos) })
  const due = rewards.flatMap(({ address, dueNanos }) => (dueNanos > 0n ? [address] : []))
  if (!settings.creditsAccounts) return { ...none, rewards }
  const accounts = await withRoom(client, await accountsOfWallets(client, due), rewards)
  return { ...none, rewards, accounts }
}

/** The tree of the rewards that a root pays; undefined where it pays none. */
async function treeOf(
  { rewards, accounts }: Rewarded,
  { settings, limits }: CloseOptions,
): Promise<RewardTree | undefined> {
  const leaves = rewards
    .filter(({ address, dueNanos }) => dueNanos > 0n && !accounts.has(address))
    .map(({ address, dueNanos }) => ({ account: address, amount: tokensOf(dueNanos, settings.coin.decimals) }))
  return leaves.length === 0 ? undefined : rewardTree(leaves, limits.rewardHashesPerTurn)
}

function totalsOf({ poolNanos, rewards, accounts }: Rewarded) {
  const sum = (nanosOf: (reward: DueReward) => bigint) => rewards.reduce((total, one) => total + nanosOf(one), 0n)
  const creditedNanos = sum(({ address, dueNanos }) => (accounts.has(address) ? dueNanos : 0n))
  return {
    poolNanos,
    earnedNanos: sum(({ earnedNanos }) => earnedNanos),
    paidNanos: sum(({ dueNanos }) => dueNanos) - creditedNanos,
    creditedNanos,
    carriedNanos: sum((one) => one.carriedNanos),
    holders: rewards.filter(({ earnedNanos }) => earnedNanos > 0n).length,
  }
}

/** Books the amounts set aside and the rewards of accounts. Accounts are locked first, as everywhere. */
async function book(client: Client, period: RevenuePeriod, { rewards, accounts }: Rewarded): Promise<void> {
  const accountIds = [...new Set(accounts.values())]
  await lockAccounts(client, accountIds)
  await lockLedgerAccounts(client, [REVENUE, REWARDS, VAULT, ...accountIds.map(coinAccount)])
  const ref = String(period.number)
  const taken = [
    { kind: REWARD_SHARE, credit: REWARDS, units: period.rewardUnits, nanos: period.rewardNanos },
    { kind: VAULT_SHARE, credit: VAULT, units: period.vaultUnits, nanos: period.vaultNanos },
  ].filter(({ units }) => units > 0n)
  const posted = await postTransfers(
    client,
    taken.map(({ kind, credit, units, nanos }) => {
      return { kind, ref, debit: REVENUE, credit, units, coinNanos: nanos }
    }),
  )
  if (posted !== taken.length) throw new Error(`shares of the period ${ref} were taken before`)
  for (const { address, dueNanos } of rewards) {
    const accountId = accounts.get(address)
    if (accountId === undefined) continue
    const units = Number((dueNanos * BigInt(period.coinUsdUnits)) / NANOS)
    const credit = { accountId, nanos: Number(dueNanos), units, ref: `${ref}:${address}` }
    await creditCoin(client, { ...credit, kind: REWARD_CREDIT, from: REWARDS })
  }
}

const NANOS = 1_000_000_000n

/** Books the payouts that are to be sent on the chain. */
async function setAside(
  client: Client,
  period: RevenuePeriod,
  { coin, distributor, vault }: HolderSettings,
): Promise<void> {
  const { number, paidNanos, vaultNanos } = period
  for (const { purpose, receiver, nanos } of [
    { purpose: 'reward' as const, receiver: distributor, nanos: paidNanos },
    { purpose: 'vault' as const, receiver: vault, nanos: vaultNanos },
  ]) {
    if (receiver === null || nanos === 0n) continue
    const units = (nanos * BigInt(period.coinUsdUnits)) / NANOS
    const amount = tokensOf(nanos, coin.decimals)
    await insertPayout(client, { purpose, number, token: coin.address, receiver, amount, nanos, units })
  }
}
