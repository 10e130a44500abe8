import { type Hex, parseUnits } from 'viem'
import { nanosBoughtFor } from '../../../../contract/money/coin.ts'
import { type Address, parseAddress } from '../../../../contract/payments/address.ts'
import type { Weight } from './allocate.ts'
import { dueRewards, tokensOf } from './dueRewards.ts'
import { rewardTree } from './rewardTree.ts'
import { type Rests, splitRevenue } from './splitRevenue.ts'

const NANO_DECIMALS = 9
const HASHES_PER_TURN = 1_000

/** A period as in `GET /v1/holders/rewards`, with the fields that determine its root. */
export interface PublicPeriod {
  readonly number: number
  readonly starts_at: string
  readonly ends_at: string
  readonly net_revenue: { readonly units: string }
  readonly reward: { readonly units: string; readonly coin: string }
  readonly coin_usd: string
  readonly minimum_coin: string
  readonly excluded: readonly string[]
  readonly credited_wallets: readonly string[]
  readonly root: string | null
}

/** A transfer of the token, in the order of the chain. */
export interface TokenTransfer {
  /** Seconds since 1970, of its block. */
  readonly seconds: number
  readonly from: Address
  readonly to: Address
  readonly amount: bigint
}

/** The results of a period, recomputed from the transfers alone. */
export interface Recomputed {
  readonly number: number
  readonly root: Hex | null
  /** The total that the root pays, in the smallest units of the coin. */
  readonly total: bigint
  readonly holders: number
  /** Where the figures of the period contradict each other; empty where they do not. */
  readonly faults: readonly string[]
}

/**
 * Computes the roots of periods from the first on, by the transfers of the token and the public figures of the periods.
 * @param periods all from number 1 up to the one that is asked for, in their order
 * @param transfers all up to the end of the last one
 * @param decimals of the coin
 */
export async function recompute(
  periods: readonly PublicPeriod[],
  transfers: readonly TokenTransfer[],
  decimals: number,
): Promise<Recomputed[]> {
  const holdings = new Holdings(transfers)
  const results: Recomputed[] = []
  let rests: Rests = { deficitUnits: 0n, rewardRest: 0n, vaultRest: 0n }
  let [carried, unearned] = [new Map<Address, bigint>(), 0n]
  for (const period of periods) {
    const split = splitRevenue(BigInt(period.net_revenue.units), rests, true, 0)
    rests = split
    const faults = faultsOf(period, split.rewardUnits)
    const poolNanos = nanosIn(period.reward.coin) + unearned
    const weights = holdings.weights(period)
    const rewards = dueRewards({ poolNanos, weights, carried, minNanos: nanosIn(period.minimum_coin) })
    unearned = weights.length === 0 ? poolNanos : 0n
    carried = new Map(rewards.flatMap((one) => (one.carriedNanos > 0n ? [[one.address, one.carriedNanos]] : [])))
    const credited = new Set(period.credited_wallets.map((address) => address.toLowerCase()))
    const leaves = rewards
      .filter(({ address, dueNanos }) => dueNanos > 0n && !credited.has(address))
      .map(({ address, dueNanos }) => ({ account: address, amount: tokensOf(dueNanos, decimals) }))
    const root = leaves.length === 0 ? null : ((await rewardTree(leaves, HASHES_PER_TURN)).nodes[0] ?? null)
    const total = leaves.reduce((sum, { amount }) => sum + amount, 0n)
    results.push({ number: period.number, root, total, holders: leaves.length, faults })
  }
  return results
}

/** Half of the net revenue, at the price of the coin. */
function faultsOf({ reward, coin_usd: coinUsd }: PublicPeriod, rewardUnits: bigint): string[] {
  const faults: string[] = []
  if (reward.units !== rewardUnits.toString())
    faults.push(`the reward is ${reward.units} units, half of the net revenue ${rewardUnits}`)
  const nanos = nanosBoughtFor(BigInt(reward.units), Number(parseUnits(coinUsd, NANO_DECIMALS)))
  if (nanosIn(reward.coin) !== nanos) faults.push(`the reward is ${reward.coin} coin, its units buy ${nanos} nanos`)
  return faults
}

const nanosIn = (coin: string): bigint => parseUnits(coin, NANO_DECIMALS)

/** The balances of all holders, moved forward from transfer to transfer. */
class Holdings {
  private readonly transfers: readonly TokenTransfer[]
  private readonly balances = new Map<string, bigint>()
  private next = 0

  constructor(transfers: readonly TokenTransfer[]) {
    this.transfers = transfers
  }

  /** The weight of each holder over a period: its balance times the seconds that it held it. Moves to the end of the period. */
  weights({ starts_at: startsAt, ends_at: endsAt, excluded }: PublicPeriod): Weight[] {
    const [from, until] = [startsAt, endsAt].map((time) => Math.floor(Date.parse(time) / 1_000)) as [number, number]
    this.moveUntil(from, () => {})
    const parts = new Map<string, bigint>()
    const add = (address: string, part: bigint) => parts.set(address, (parts.get(address) ?? 0n) + part)
    for (const [address, balance] of this.balances) add(address, balance * BigInt(until - from))
    this.moveUntil(until, ({ seconds, from: sender, to: receiver, amount }) => {
      add(sender, -amount * BigInt(until - seconds))
      add(receiver, amount * BigInt(until - seconds))
    })
    const left = new Set(excluded.map((address) => address.toLowerCase()))
    return [...parts].flatMap(([text, weight]) => {
      const address = parseAddress(text)
      return address === undefined || left.has(address) || weight <= 0n ? [] : [{ address, weight }]
    })
  }

  private moveUntil(seconds: number, onMoved: (transfer: TokenTransfer) => void): void {
    for (; ; this.next++) {
      const transfer = this.transfers[this.next]
      if (transfer === undefined || transfer.seconds >= seconds) return
      this.balances.set(transfer.from, (this.balances.get(transfer.from) ?? 0n) - transfer.amount)
      this.balances.set(transfer.to, (this.balances.get(transfer.to) ?? 0n) + transfer.amount)
      onMoved(transfer)
    }
  }
}
