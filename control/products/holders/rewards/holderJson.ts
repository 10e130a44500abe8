import { formatUnits, getAddress } from 'viem/utils'
import type { Address } from '../../../../contract/payments/address.ts'
import { bookPrice } from '../../../catalog/pricing/coinAmounts.ts'
import type { HolderSettings } from '../../../chain/holderSettings.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { HoldersLimits } from '../limits.ts'
import { type CurrentPeriod, currentPeriod } from './currentPeriod.ts'
import { tokensOf } from './dueRewards.ts'
import { type HolderShare, type HolderTotals, holderShares, holderTotals, rewardProof } from './holderRow.ts'
import { type HolderPart, holderPart } from './holderWeights.ts'
import { lastPeriod } from './periodRow.ts'
import { decimal, estimatedNanos } from './rewardJson.ts'
import type { PaidTerms } from './rewardTerms.ts'

/** The current and past earnings of one address, with the proofs of its claims. @param address lower case */
export async function holderJson(
  db: Queryable,
  { holders, excluded }: PaidTerms,
  address: Address,
  limits: HoldersLimits,
) {
  const [totals, shares, current, last, price] = await Promise.all([
    holderTotals(db, address),
    holderShares(db, address, limits.rewardClaimsShown),
    currentPeriod(db, holders),
    lastPeriod(db),
    bookPrice(db),
  ])
  const isExcluded = excluded.includes(address)
  const part = current === undefined ? NO_PART : await partOf(db, current, excluded, address)
  const estimate = current === undefined || isExcluded ? 0n : estimateOf(part, estimatedNanos(current, price))
  const claims = await Promise.all(shares.map((share) => claimJson(db, share, holders.coin.decimals)))
  return {
    object: 'holder_reward' as const,
    address: getAddress(address),
    earns: !isExcluded && part.weight > 0n,
    is_excluded: isExcluded,
    balance: tokenText(part.amount, holders),
    current: current === undefined ? null : { number: current.number, estimate_coin: decimal(estimate) },
    last: { number: last?.number ?? 0, earned_coin: decimal(earnedIn(totals, last?.number ?? 0)) },
    lifetime: {
      earned_coin: decimal(totals.earnedNanos),
      paid_coin: decimal(totals.paidNanos),
      credited_coin: decimal(totals.creditedNanos),
    },
    carried_coin: decimal(totals.carriedNanos),
    rewards: claims,
  }
}

const NO_PART: HolderPart = { weight: 0n, totalWeight: 0n, amount: 0n }

/** Transfers of the last moments may not be read yet, so this is an estimate. */
function partOf(db: Queryable, current: CurrentPeriod, excluded: readonly Address[], address: Address) {
  const { fromSeconds, nowSeconds } = current
  return holderPart(db, { fromSeconds, untilSeconds: Math.max(nowSeconds, fromSeconds + 1) }, excluded, address)
}

function estimateOf({ weight, totalWeight }: HolderPart, poolNanos: bigint): bigint {
  return weight <= 0n || totalWeight <= 0n ? 0n : (poolNanos * weight) / totalWeight
}

const earnedIn = ({ lastNumber, lastNanos }: HolderTotals, number: number): bigint =>
  number > 0 && lastNumber === number ? lastNanos : 0n

/** Shares of a vault have more decimals than its coin; only their smallest units are shown. */
function tokenText(amount: bigint, { rewardsFor, coin }: HolderSettings) {
  const units = amount.toString()
  return { token_amount: units, amount: rewardsFor === 'coin' ? formatUnits(amount, coin.decimals) : null }
}

async function claimJson(db: Queryable, share: HolderShare, decimals: number) {
  const { number, nanos, endsAt, node, contract, claim, isPublished } = share
  const shown = { number, ended_at: endsAt.toISOString(), coin: decimal(nanos) }
  if (node === null)
    return {
      ...shown,
      state: 'credited' as const,
      token_amount: null,
      distributor: null,
      proof: null,
      transaction: null,
    }
  return {
    ...shown,
    state: claim !== null ? ('claimed' as const) : isPublished ? ('claimable' as const) : ('pending' as const),
    token_amount: tokensOf(nanos, decimals).toString(),
    distributor: contract === null ? null : getAddress(contract),
    proof: await rewardProof(db, number, node),
    transaction: claim,
  }
}
