import { formatUnits, getAddress } from 'viem/utils'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import { type Address, networkOf } from '../../../../contract/payments/address.ts'
import type { ReadHandler } from '../../../api/call.ts'
import { bookPrice } from '../../../catalog/pricing/coinAmounts.ts'
import type { ChainClient } from '../../../chain/chainClient.ts'
import type { HolderSettings } from '../../../chain/holderSettings.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { HoldersLimits } from '../limits.ts'
import { readVault, type VaultState } from './vaultContract.ts'
import { type VaultDeposit, vaultDeposits } from './vaultDeposits.ts'
import { priceBefore, type VaultPrice } from './vaultPrices.ts'

const DAY_SECONDS = 86_400
const GROWTH_DECIMALS = 9
const USD_DECIMALS = 9

export interface VaultParts {
  readonly db: Queryable
  /** Undefined where the gateway has no chain. */
  readonly payments:
    | {
        readonly config: { readonly chainId: number; readonly holders: HolderSettings | null }
        /** @throws GatewayError chain_unavailable until the chain has answered for the first time */
        readonly chain: ChainClient
      }
    | undefined
  readonly limits: HoldersLimits
}

/** The read of the vault; answers not_found without a vault. */
export function vaultHandlers({ db, payments, limits }: VaultParts): Record<'get_vault', ReadHandler> {
  return {
    get_vault: {
      read: async () => {
        const holders = payments?.config.holders ?? null
        if (payments === undefined || holders === null || holders.vault === null) {
          throw new GatewayError('not_found', { message: 'This gateway has no vault.' })
        }
        const { vault } = holders
        const state = await readVault(payments.chain, vault)
        const [week, month, deposits, coinUsdUnits] = await Promise.all([
          priceBefore(db, vault, state.blockTime - 7 * DAY_SECONDS),
          priceBefore(db, vault, state.blockTime - 30 * DAY_SECONDS),
          vaultDeposits(db, vault, limits.vaultDepositsShown),
          bookPrice(db),
        ])
        return {
          json: vaultJson(payments.config.chainId, holders, vault, { state, week, month, deposits, coinUsdUnits }),
        }
      },
    },
  }
}

interface Facts {
  readonly state: VaultState
  readonly week: VaultPrice | undefined
  readonly month: VaultPrice | undefined
  readonly deposits: readonly VaultDeposit[]
  readonly coinUsdUnits: number
}

function vaultJson(
  chainId: number,
  { coin, vaultShareBps, periodSeconds }: HolderSettings,
  vault: Address,
  facts: Facts,
) {
  const { state, week, month, deposits, coinUsdUnits } = facts
  const amount = (tokens: bigint) => ({ token_amount: tokens.toString(), coin: formatUnits(tokens, coin.decimals) })
  const usd = (state.totalAssets * BigInt(coinUsdUnits)) / 10n ** BigInt(coin.decimals)
  return {
    object: 'vault' as const,
    network: networkOf(chainId),
    address: getAddress(vault),
    asset: { address: getAddress(coin.address), name: coin.name, decimals: coin.decimals },
    block: state.block,
    block_time: isoTime(state.blockTime),
    tvl: { ...amount(state.totalAssets), usd: formatUnits(usd, USD_DECIMALS) },
    shares: { token_amount: state.totalSupply.toString(), decimals: state.shareDecimals },
    share_price: amount(state.price),
    yield: { days_7: growthJson(state.price, week), days_30: growthJson(state.price, month) },
    revenue: {
      share_percent: formatUnits(BigInt(vaultShareBps), 2),
      interval_seconds: periodSeconds,
      vest_seconds: state.vestSeconds,
      vesting: amount(state.unvested),
      vests_until: state.unvested === 0n ? null : isoTime(state.vestUntil),
      pending: amount(state.pending),
    },
    deposits: deposits.map(({ number, hash, block, confirmations, tokens, units, endsAt }) => ({
      object: 'vault_deposit' as const,
      number,
      period_ended_at: endsAt.toISOString(),
      transaction: hash,
      block,
      confirmations,
      ...amount(tokens),
      usd: formatUnits(units, USD_DECIMALS),
    })),
  }
}

/** The growth of the price of a share since then; null without a price that is that old. */
function growthJson(price: bigint, before: VaultPrice | undefined) {
  if (before === undefined) return null
  const growth = ((price - before.price) * 10n ** BigInt(GROWTH_DECIMALS)) / before.price
  return { growth: formatUnits(growth, GROWTH_DECIMALS), from_block: before.block, from: isoTime(before.blockTime) }
}

const isoTime = (seconds: number): string => new Date(seconds * 1_000).toISOString()
