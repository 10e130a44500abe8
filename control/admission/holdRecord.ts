import { coinFor } from '../../contract/money/coin.ts'
import { UNITS_PER_USD } from '../../contract/money/units.ts'
import type { CoinPart } from '../../contract/wire/coinPart.ts'
import { decodeHoldMeta, type HoldMeta } from '../../contract/wire/holdMeta.ts'
import { keysOf } from './spendingKeys.ts'

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
  /** Hour, day and month that the hold was counted in, numbers since 1970. */
  readonly hour: number
  readonly day: number
  readonly month: number
  /** The parts of the hold that were taken from grants. */
  readonly grants: { grantId: string; units: number }[]
}

/** Reads one field of a `holds` hash. @returns undefined when it does not have the form of a hold */
export function parseHold(shard: number, owner: string, requestId: string, text: string): HoldRecord | undefined {
  const fields = text.split('|')
  if (fields.length < 10) return undefined
  const [amount, heldAtMs, accountId = '', keys = '', hour, day, month, coin = '', parts = ''] = fields
  return {
    requestId,
    owner,
    shard,
    accountId,
    ...keysOf(keys),
    holdUnits: Number(amount),
    heldAtMs: Number(heldAtMs),
    hour: Number(hour),
    day: Number(day),
    month: Number(month),
    ...coinHeld(coin),
    grants: partsOf(parts),
    ...decodeHoldMeta(fields.slice(9).join('|')),
  }
}

/** Reads the coin of a hold: `units`, or `units@price` where a coin is not one US dollar. */
function coinHeld(text: string): CoinPart {
  const [units, price = UNITS_PER_USD] = text.split('@').map(Number)
  const coinUnits = units ?? 0
  return { coinUnits, coinNanos: coinFor(coinUnits, price) }
}

/** Reads `grantId=units,...`. */
export function partsOf(text: string): { grantId: string; units: number }[] {
  if (text === '') return []
  return text.split(',').map((part) => {
    const [grantId = '', units] = part.split('=')
    return { grantId, units: Number(units) }
  })
}
