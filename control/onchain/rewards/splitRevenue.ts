const WHOLE_BPS = 10_000n

/** What divisions left of the periods before, and by how much more went out than came in; amounts are units. */
export interface Rests {
  readonly deficitUnits: bigint
  /** Halves of a unit: 0 or 1. */
  readonly rewardRest: bigint
  /** In 1/10000 of a unit. */
  readonly vaultRest: bigint
}

/** What is set aside of a period, and the rests for the next. */
export interface Split extends Rests {
  readonly rewardUnits: bigint
  readonly vaultUnits: bigint
}

/**
 * Shares out the net revenue of a period: half of it to holders where they are rewarded, and the vault's part. Over all
 * periods both are exact: a rest goes to the next period, and what went out beyond what came in is made up for first.
 * @param netUnits may be negative, as when more was paid to referrers than was charged
 */
export function splitRevenue(netUnits: bigint, before: Rests, paysRewards: boolean, vaultShareBps: number): Split {
  const open = netUnits - before.deficitUnits
  const sharedUnits = open > 0n ? open : 0n
  const halves = paysRewards ? sharedUnits + before.rewardRest : before.rewardRest
  const parts = sharedUnits * BigInt(vaultShareBps) + before.vaultRest
  return {
    rewardUnits: halves / 2n,
    rewardRest: halves % 2n,
    vaultUnits: parts / WHOLE_BPS,
    vaultRest: parts % WHOLE_BPS,
    deficitUnits: sharedUnits - open,
  }
}
