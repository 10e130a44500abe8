import { formatUnits, getAddress } from 'viem/utils'
import { nanosBoughtFor } from '../../../../contract/money/coin.ts'
import { type Address, networkOf } from '../../../../contract/payments/address.ts'
import type { CurrentPeriod } from './currentPeriod.ts'
import { tokensOf } from './dueRewards.ts'
import type { RevenuePeriod } from './periodRow.ts'
import type { Lifetime, PeriodMovements } from './rewardReads.ts'
import type { PaidTerms } from './rewardTerms.ts'

const DECIMALS = 9
const SHARE_PERCENT = 50

/** An integer of 1e-9, of USD or of coin, as a decimal. */
export const decimal = (nanos: bigint): string => formatUnits(nanos, DECIMALS)

const usdJson = (units: bigint) => ({ units: units.toString(), usd: decimal(units) })

/** The terms under which holders are rewarded. */
export function termsJson({ chainId, holders, excluded }: PaidTerms) {
  const { coin, distributor, token, rewardsFor, fromBlock, minNanos, creditsAccounts, periodSeconds } = holders
  return {
    network: networkOf(chainId),
    rewards_for: rewardsFor,
    token: getAddress(token),
    from_block: fromBlock,
    coin: { address: getAddress(coin.address), decimals: coin.decimals },
    distributor: distributor === null ? null : getAddress(distributor),
    share_percent: SHARE_PERCENT,
    period_seconds: periodSeconds,
    minimum_coin: decimal(BigInt(minNanos)),
    to_accounts: creditsAccounts,
    excluded: excluded.map((address) => getAddress(address)),
  }
}

/** The period that runs. */
export function currentJson(current: CurrentPeriod, coinUsdUnits: number) {
  const { number, startsAt, endsAt, netUnits, rewardUnits } = current
  return {
    number,
    starts_at: startsAt.toISOString(),
    ends_at: endsAt.toISOString(),
    net_revenue: usdJson(netUnits),
    estimate: { ...usdJson(rewardUnits), coin: decimal(estimatedNanos(current, coinUsdUnits)) },
  }
}

/** Coin that would be distributed if the period ended now, at the current price. */
export function estimatedNanos({ rewardUnits, unearnedNanos }: CurrentPeriod, coinUsdUnits: number): bigint {
  return nanosBoughtFor(rewardUnits, coinUsdUnits) + unearnedNanos
}

/** All closed periods together. */
export function lifetimeJson(lifetime: Lifetime) {
  return {
    periods: lifetime.periods,
    reward: { ...usdJson(lifetime.rewardUnits), coin: decimal(lifetime.rewardNanos) },
    paid_coin: decimal(lifetime.paidNanos),
    credited_coin: decimal(lifetime.creditedNanos),
    carried_coin: decimal(lifetime.carriedNanos),
    unearned_coin: decimal(lifetime.unearnedNanos),
  }
}

/**
 * A closed period, with all inputs of its root except the transfers of the token.
 * @param credited addresses whose rewards were credited to accounts
 */
export function periodJson(
  period: RevenuePeriod,
  decimals: number,
  movements: PeriodMovements | undefined,
  credited: readonly Address[],
) {
  return {
    object: 'reward_period' as const,
    number: period.number,
    state: stateOf(period, movements),
    starts_at: period.startsAt.toISOString(),
    ends_at: period.endsAt.toISOString(),
    net_revenue: usdJson(period.netUnits),
    deficit: usdJson(period.deficitUnits),
    reward: { ...usdJson(period.rewardUnits), coin: decimal(period.rewardNanos) },
    coin_usd: decimal(BigInt(period.coinUsdUnits)),
    pool_coin: decimal(period.poolNanos),
    earned_coin: decimal(period.earnedNanos),
    paid_coin: decimal(period.paidNanos),
    credited_coin: decimal(period.creditedNanos),
    carried_coin: decimal(period.carriedNanos),
    holders: period.holders,
    minimum_coin: decimal(BigInt(period.minNanos)),
    excluded: period.excluded.map((address) => getAddress(address)),
    credited_wallets: credited.map((address) => getAddress(address)),
    root: period.root ?? null,
    token_amount: tokensOf(period.paidNanos, decimals).toString(),
    distributor: movements === undefined ? null : getAddress(movements.contract),
    funding_transaction: movements?.funding ?? null,
    root_transaction: movements?.publication ?? null,
  }
}

function stateOf({ root }: RevenuePeriod, movements: PeriodMovements | undefined): 'closed' | 'funded' | 'published' {
  if (root === undefined || movements === undefined) return 'closed'
  if (movements.publication !== null) return 'published'
  return movements.funding === null ? 'closed' : 'funded'
}
