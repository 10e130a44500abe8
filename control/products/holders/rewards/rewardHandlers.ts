import { GatewayError } from '../../../../contract/errors/errors.ts'
import { type Address, parseAddress } from '../../../../contract/payments/address.ts'
import type { ApiCall, ReadHandler } from '../../../api/call.ts'
import { listJson, pageOf } from '../../../api/lists.ts'
import { bookPrice } from '../../../catalog/pricing/coinAmounts.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { HoldersLimits } from '../limits.ts'
import { currentPeriod } from './currentPeriod.ts'
import { holderJson } from './holderJson.ts'
import { creditedAddresses } from './holderRow.ts'
import { pageOfPeriods } from './periodRow.ts'
import { currentJson, lifetimeJson, periodJson, termsJson } from './rewardJson.ts'
import { lifetimeOf, movementsOf } from './rewardReads.ts'
import type { PaidTerms, RewardTerms } from './rewardTerms.ts'

export interface RewardParts {
  readonly db: Queryable
  /** Undefined where the gateway has no chain. */
  readonly rewards: RewardTerms | undefined
  /** Wallets of an account. */
  readonly listWallets: (db: Queryable, accountId: string) => Promise<ReadonlyArray<{ readonly address: string }>>
  readonly limits: HoldersLimits
}

type RewardOperation = 'get_rewards' | 'get_holder_rewards' | 'get_own_rewards'

/** The reads of rewards; where the gateway pays none, each is answered not_found. */
export function rewardHandlers(parts: RewardParts): Record<RewardOperation, ReadHandler> {
  const { db, limits } = parts
  return {
    get_rewards: { read: async (call) => ({ json: await rewardsJson(parts, call) }) },
    get_holder_rewards: {
      read: async ({ params }) => {
        const address = parseAddress(params['address'])
        if (address === undefined) throw new GatewayError('invalid_address', { param: 'address' })
        return { json: await holderJson(db, termsOf(parts), address, limits) }
      },
    },
    get_own_rewards: {
      read: async ({ accountId, caller }) => {
        // The answer names the account's wallets, and the holder of a key with bounds of its own may not be the account's owner.
        if (caller.kind === 'key' && caller.isRestricted) throw new GatewayError('permission_denied')
        const terms = termsOf(parts)
        const wallets = await parts.listWallets(db, accountId)
        const data = []
        for (const wallet of wallets) data.push(await holderJson(db, terms, wallet.address as Address, limits))
        return { json: listJson(data, limits.walletsPerAccountMax) }
      },
    },
  }
}

/** @throws GatewayError not_found where no rewards are paid */
function termsOf({ rewards }: RewardParts): PaidTerms {
  const holders = rewards?.holders ?? null
  if (rewards === undefined || holders === null || holders.distributor === null) {
    throw new GatewayError('not_found', { message: 'This gateway pays no rewards to holders.' })
  }
  return { ...rewards, holders }
}

async function rewardsJson(parts: RewardParts, call: ApiCall) {
  const { db, limits } = parts
  const terms = termsOf(parts)
  const { limit } = pageOf(call, limits)
  const after = call.query['after']
  const below = typeof after === 'number' ? after : Number.MAX_SAFE_INTEGER
  const periods = await pageOfPeriods(db, limit + 1, below)
  const numbers = periods.map(({ number }) => number)
  const [current, lifetime, movements, credited, coinUsdUnits] = await Promise.all([
    currentPeriod(db, terms.holders),
    lifetimeOf(db),
    movementsOf(db, numbers),
    creditedAddresses(db, numbers),
    bookPrice(db),
  ])
  const data = periods.map((period) =>
    periodJson(period, terms.holders.coin.decimals, movements.get(period.number), credited.get(period.number) ?? []),
  )
  return {
    ...listJson(data, limit),
    ...termsJson(terms),
    current: current === undefined ? null : currentJson(current, coinUsdUnits),
    lifetime: lifetimeJson(lifetime),
  }
}
