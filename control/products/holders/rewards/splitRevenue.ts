const WHOLE_BPS = 10_000n

/** Remainders of the divisions of earlier periods, and the deficit where more was paid out than taken in; amounts are units. */
export interface Rests {
  readonly deficitUnits: bigint
  /** Halves of a unit: 0 or 1. */
  readonly rewardRest: bigint
  /** In 1/10000 of a unit. */
  readonly vaultRest: bigint
}

/** The shares set aside from a period, and the remainders for the next. */
export interface Split extends Rests {
  readonly rewardUnits: bigint
  readonly vaultUnits: bigint
}

/**
 * Divides the net revenue of a period: half of it to holders where they are rewarded, and the vault's part. Over all periods
 * both are exact: a remainder is carried into the next period, and a deficit is made up for first.
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
