import { formatUnits, getAddress } from 'viem/utils'
import { networkOf } from '../../../contract/payments/address.ts'
import { canonicalJson } from '../../../contract/payments/canonicalJson.ts'
import type { ChargedAsset, LogRange } from './chargedUnits.ts'
import type { Reserve } from './reserve.ts'

/** Names the form of statements; a changed one gets another name. */
const FORM = 'sluice-settlement/1'
const USD_DECIMALS = 9

/** The contents of a batch. */
export interface BatchFacts {
  readonly number: number
  readonly chainId: number
  /** Names the log whose checkpoint it is. */
  readonly origin: string
  readonly treeSizeFrom: number
  readonly treeSize: number
  readonly root: Buffer
  /** Of all logs that have receipts. */
  readonly ranges: readonly LogRange[]
  readonly charged: ReadonlyMap<ChargedAsset, bigint>
  readonly reserve: Reserve
}

/** A statement parsed from its text. */
export interface Statement {
  readonly form: typeof FORM
  readonly number: number
  readonly network: string
  readonly origin: string
  readonly tree_size_from: number
  readonly tree_size: number
  readonly root: string
  readonly receipts: { readonly from: number; readonly until: number }
  readonly logs: ReadonlyArray<{ readonly log: number; readonly from: number; readonly until: number }>
  readonly charged: { readonly units: string; readonly usd: string; readonly by_asset: readonly Charged[] }
  readonly reserve: StatedReserve
}

interface Charged {
  readonly asset: ChargedAsset
  readonly units: string
  readonly usd: string
}

interface StatedReserve {
  readonly treasury: string
  readonly block: number
  readonly coin_usd: string
  readonly held: ReadonlyArray<{
    readonly asset: string
    readonly token: string
    readonly token_amount: string
    readonly amount: string
    readonly usd: string
  }>
  readonly held_usd: string
  readonly owed: ReadonlyArray<{ readonly asset: 'coin' | 'usd'; readonly amount: string; readonly usd: string }>
  readonly owed_usd: string
}

/** The text whose SHA-256 the chain has: JSON in canonical form (RFC 8785), with integers and strings only. */
export function statementText(facts: BatchFacts): string {
  return canonicalJson(statementOf(facts))
}

function statementOf(facts: BatchFacts): Statement {
  const { number, chainId, origin, treeSizeFrom, treeSize, root, ranges, charged, reserve } = facts
  const total = [...charged.values()].reduce((sum, units) => sum + units, 0n)
  const paid = [...charged].filter(([, units]) => units > 0n)
  return {
    form: FORM,
    number,
    network: networkOf(chainId),
    origin,
    tree_size_from: treeSizeFrom,
    tree_size: treeSize,
    root: root.toString('hex'),
    receipts: receiptsOf(ranges),
    logs: ranges.filter(({ from, until }) => until > from).map(({ log, from, until }) => ({ log, from, until })),
    charged: {
      units: total.toString(),
      usd: usd(total),
      by_asset: paid.map(([asset, units]) => ({ asset, units: units.toString(), usd: usd(units) })),
    },
    reserve: reserveOf(reserve),
  }
}

/** How many receipts there are in all logs before and with those of the ranges. */
export function receiptsOf(ranges: readonly LogRange[]): { from: number; until: number } {
  return {
    from: ranges.reduce((sum, range) => sum + range.from, 0),
    until: ranges.reduce((sum, range) => sum + range.until, 0),
  }
}

/** The total debt, in units. */
export function owedUnits({ owedCoinUnits, owedUsdUnits }: Reserve): bigint {
  return owedCoinUnits + owedUsdUnits
}

function reserveOf(reserve: Reserve): StatedReserve {
  const { treasury, block, coinUsdUnits, held, heldUnits, owedCoinNanos, owedCoinUnits, owedUsdUnits } = reserve
  return {
    treasury: getAddress(treasury),
    block,
    coin_usd: usd(BigInt(coinUsdUnits)),
    held: held.map(({ asset, amount, units }) => ({
      asset: asset.id,
      token: getAddress(asset.address),
      token_amount: amount.toString(),
      amount: formatUnits(amount, asset.decimals),
      usd: usd(units),
    })),
    held_usd: usd(heldUnits),
    owed: [
      { asset: 'coin', amount: usd(owedCoinNanos), usd: usd(owedCoinUnits) },
      { asset: 'usd', amount: usd(owedUsdUnits), usd: usd(owedUsdUnits) },
    ],
    owed_usd: usd(owedUnits(reserve)),
  }
}

/** An integer of 1e-9 as a decimal. */
const usd = (units: bigint): string => formatUnits(units, USD_DECIMALS)
