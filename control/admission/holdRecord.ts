import { coinFor } from '../../contract/money/coin.ts'
import { UNITS_PER_USD } from '../../contract/money/units.ts'
import type { CoinPart } from '../../contract/wire/coinPart.ts'
import { matchText } from '../../contract/wire/countedText.ts'
import { type GrantPart, parseGrants } from '../../contract/wire/grantParts.ts'
import { decodeHoldMeta, type HoldMeta } from '../../contract/wire/holdMeta.ts'
import { keysOf } from './spendingKeys.ts'

const FORM = /^([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|v2:(\d+)\|([^|]*)\|([^|]*)\|(.*)$/s

/** A hold as Redis keeps it; see contract/wire/lua/README.md. */
export interface HoldRecord extends HoldMeta, CoinPart {
  readonly requestId: string
  readonly owner: string
  readonly shard: number
  readonly accountId: string
  readonly keyId: string
  /** The platform key that it counts against as well, when the key is a sub-key; else empty. */
  readonly platformKeyId: string
  readonly holdUnits: number
  readonly heldAtMs: number
  /** That the hold was counted in, since 1970, UTC; its windows follow from it. */
  readonly hour: number
  /** The parts of the hold that were taken from grants. */
  readonly grants: GrantPart[]
}

/** Reads one field of a `holds` hash. @returns undefined when it does not have the form of a hold */
export function parseHold(shard: number, owner: string, requestId: string, text: string): HoldRecord | undefined {
  const match = matchText(text, FORM)
  if (match === null) return undefined
  const [, amount, heldAtMs, accountId = '', keys = '', hour, coin = '', parts = '', meta = ''] = match
  return {
    requestId,
    owner,
    shard,
    accountId,
    ...keysOf(keys),
    holdUnits: Number(amount),
    heldAtMs: Number(heldAtMs),
    hour: Number(hour),
    ...coinHeld(coin),
    grants: parseGrants(parts),
    ...decodeHoldMeta(meta),
  }
}

/** Reads the coin of a hold: `units`, or `units@price` where a coin is not one US dollar. */
function coinHeld(text: string): CoinPart {
  const [units, price = UNITS_PER_USD] = text.split('@').map(Number)
  const coinUnits = units ?? 0
  return { coinUnits, coinNanos: coinFor(coinUnits, price) }
}
