import type { Address } from '../../contract/payments/address.ts'
import type { PaymentAsset } from '../../contract/payments/terms.ts'
import { statedUnits } from '../runtime/files/statedUnits.ts'
import type { YamlFile } from '../runtime/files/yamlFile.ts'

/** The book counts nine decimals of coin, all of which the token has to have. */
const DECIMALS_MIN = 9

/** The recipients of revenue, and how it is shared. */
export interface HolderSettings {
  readonly coin: PaymentAsset
  /** The ScoinVault contract; null for none. */
  readonly vault: Address | null
  /** Part of the net revenue that goes to the vault, in 1/10000. */
  readonly vaultShareBps: number
  /** The RewardDistributor contract; null where no rewards are paid. */
  readonly distributor: Address | null
  readonly rewardsFor: 'coin' | 'vault'
  /** The token whose holders are rewarded. */
  readonly token: Address
  /** The block from which on its transfers are read. */
  readonly fromBlock: number
  /** The least that is paid, in integers of 1e-9 coin. */
  readonly minNanos: number
  /** Rewards of linked wallets are credited to their accounts. */
  readonly creditsAccounts: boolean
  /** Named by the operator. */
  readonly excluded: readonly Address[]
  readonly periodSeconds: number
}

/** The part of the payments file for holders, with its defaults. */
export interface HolderContent {
  readonly scoin_vault?: string
  readonly vault_share_bps: number
  readonly reward_distributor?: string
  readonly rewards_for: 'coin' | 'vault'
  readonly rewards_from_block: number
  readonly rewards_min_coin: string
  readonly rewards_to_accounts: boolean
  readonly rewards_excluded: readonly string[]
  readonly revenue_period_seconds: number
}

/**
 * Reads the settings of holders from the payments file. Reports invalid fields to the file.
 * @returns null where it names neither a vault nor a distributor
 */
export function holderSettings(
  file: YamlFile,
  content: HolderContent,
  assets: readonly PaymentAsset[],
): HolderSettings | null {
  const vault = addressOrNone(content.scoin_vault)
  const distributor = addressOrNone(content.reward_distributor)
  const coin = assets.find(({ id }) => id === 'coin')
  if (vault === null && content.vault_share_bps > 0) file.problem(['vault_share_bps'], 'must be 0 without scoin_vault')
  if (vault === null && content.rewards_for === 'vault') {
    file.problem(['rewards_for'], 'must be coin without scoin_vault')
  }
  if (vault === null && distributor === null) return null
  const place = vault === null ? 'reward_distributor' : 'scoin_vault'
  if (coin === undefined || coin.decimals < DECIMALS_MIN) {
    file.problem([place], `must be left out without a coin that has at least ${DECIMALS_MIN} decimals`)
    return null
  }
  return {
    coin,
    vault,
    vaultShareBps: content.vault_share_bps,
    distributor,
    rewardsFor: content.rewards_for,
    token: content.rewards_for === 'vault' && vault !== null ? vault : coin.address,
    fromBlock: content.rewards_from_block,
    minNanos: statedUnits(content.rewards_min_coin),
    creditsAccounts: content.rewards_to_accounts,
    excluded: content.rewards_excluded.map(lowered),
    periodSeconds: content.revenue_period_seconds,
  }
}

function addressOrNone(stated: string | undefined): Address | null {
  return stated === undefined ? null : lowered(stated)
}

/** The one form in which addresses are compared. @param address of the form that the schema asks for */
export function lowered(address: string): Address {
  return address.toLowerCase() as Address
}
