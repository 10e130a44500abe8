import { formatUnits, getAddress } from 'viem/utils'
import { networkOf } from '../../../contract/payments/address.ts'
import { tokenUsdUnits } from '../../../contract/payments/conversion.ts'
import { isCovered, type ReserveReading } from './reading.ts'

const DECIMALS = 9
const RATIO_DECIMALS = 6

/** A reading as it is shown, stored and signed: strings and integers only. Amounts are decimals unless said otherwise. */
export interface StatedReserve {
  /** As CAIP-2 names it; null, as all of the chain, for a gateway without one. */
  readonly network: string | null
  readonly block: number | null
  readonly block_hash: string | null
  /** The coin's own contract; null where the coin is no token of the chain. */
  readonly token: { readonly address: string; readonly name: string; readonly decimals: number } | null
  readonly treasury: string | null
  readonly vault: string | null
  readonly coin_usd: string
  readonly held: readonly StatedHeld[]
  readonly held_usd: string
  readonly owed: readonly StatedOwed[]
  readonly owed_usd: string
  /** Held tokens divided by debts, rounded down; null without debts or without a chain. */
  readonly ratio: string | null
  readonly covered: boolean | null
}

export interface StatedHeld {
  readonly asset: string
  readonly token: string
  readonly decimals: number
  readonly holder: string
  readonly address: string
  /** Atomic units at the block. */
  readonly token_amount: string
  /** Atomic units that the gateway's own transactions moved since; negative where they took some. */
  readonly later_amount: string
  readonly amount: string
  /** Of one token. */
  readonly token_usd: string
  readonly usd: string
}

export interface StatedOwed {
  readonly class: string
  readonly asset: 'coin' | 'usd'
  readonly accounts: number
  readonly amount: string
  readonly usd: string
}

/** A reading as it is shown. */
export function statedReserve(reading: ReserveReading): StatedReserve {
  const { chain, coinUsdUnits, held, heldUnits, owed, owedUnits } = reading
  const coin = chain?.of.assets.find(({ id }) => id === 'coin')
  const addressOf = (role: string) => {
    const holder = chain?.of.holders.find((one) => one.role === role)
    return holder === undefined ? null : getAddress(holder.address)
  }
  return {
    network: chain === undefined ? null : networkOf(chain.of.chainId),
    block: chain?.block ?? null,
    block_hash: chain?.blockHash ?? null,
    token: coin === undefined ? null : tokenJson(coin),
    treasury: addressOf('treasury'),
    vault: addressOf('vault'),
    coin_usd: decimal(BigInt(coinUsdUnits)),
    held: held.map(({ asset, holder, amount, later, units }) => ({
      asset: asset.id,
      token: getAddress(asset.address),
      decimals: asset.decimals,
      holder: holder.role,
      address: getAddress(holder.address),
      token_amount: amount.toString(),
      later_amount: later.toString(),
      amount: formatUnits(amount + later, asset.decimals),
      token_usd: decimal(BigInt(tokenUsdUnits(asset, coinUsdUnits))),
      usd: decimal(units),
    })),
    held_usd: decimal(heldUnits),
    owed: owed.map(({ name, currency, accounts, amount, units }) => ({
      class: name,
      asset: currency,
      accounts,
      amount: decimal(amount),
      usd: decimal(units),
    })),
    owed_usd: decimal(owedUnits),
    ratio: chain === undefined || owedUnits === 0n ? null : ratioText(heldUnits, owedUnits),
    covered: isCovered(reading) ?? null,
  }
}

function tokenJson({ address, name, decimals }: { address: string; name: string; decimals: number }) {
  return { address: getAddress(address), name, decimals }
}

function ratioText(heldUnits: bigint, owedUnits: bigint): string {
  return formatUnits((heldUnits * 10n ** BigInt(RATIO_DECIMALS)) / owedUnits, RATIO_DECIMALS)
}

/** An integer of 1e-9 as a decimal. */
export function decimal(amount: bigint): string {
  return formatUnits(amount, DECIMALS)
}
