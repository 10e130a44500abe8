import { coinFor } from '../../contract/money/coin.ts'
import { type CoinPart, coinPartText, parseCoinPart } from '../../contract/wire/coinPart.ts'
import type { GrantPart } from '../../contract/wire/grantParts.ts'

/** Units by the pots they were taken from. */
export interface Parts extends CoinPart {
  /** Soonest expiry first; an empty list is shared and not to be changed. */
  readonly grants: readonly GrantPart[]
}

export const NO_GRANTS: readonly GrantPart[] = []
export const NO_PARTS: Readonly<Parts> = { coinUnits: 0, coinNanos: 0, grants: NO_GRANTS }

export function unitsOf(parts: Parts): number {
  return parts.coinUnits + grantUnits(parts)
}

/** The units that were taken from grants, and from a lock where there is one. */
export function grantUnits({ grants }: Parts): number {
  return sumUnits(grants)
}

/** Nothing of any pot is in it. */
export function isNothing(parts: Parts): boolean {
  return unitsOf(parts) === 0 && parts.coinNanos === 0
}

/** Nanos of coin and units of grants together, as Redis counts the amount that is out. */
export function outOf({ coinNanos, grants }: Parts): number {
  return coinNanos + sumUnits(grants)
}

export function sumUnits(grants: readonly GrantPart[]): number {
  let units = 0
  for (const part of grants) units += part.units
  return units
}

/**
 * The format of the ledger: `grantId=units,...,coin=units:nanos`, the nanos only where they are another number than the
 * units.
 */
export function splitText(parts: Parts): string {
  const { coinUnits, grants } = parts
  const coin = coinUnits === 0 ? '' : `coin=${coinPartText(parts)}`
  if (grants.length === 0) return coin
  const text = grantsText(grants)
  return text === '' || coin === '' ? text + coin : `${text},${coin}`
}

/** As the scripts of leases read it: `grantId=units,...`. */
export function grantsText(grants: readonly GrantPart[]): string {
  let text = ''
  for (const { grantId, units } of grants) if (units > 0) text += `${text === '' ? '' : ','}${grantId}=${units}`
  return text
}

/** Parses the output of `splitText`. */
export function parseSplit(text: string): Parts {
  let coin: CoinPart = NO_PARTS
  const grants: GrantPart[] = []
  for (const part of text === '' ? [] : text.split(',')) {
    const [grantId = '', units = ''] = part.split('=')
    if (grantId === 'coin') coin = parseCoinPart(units)
    else grants.push({ grantId, units: Number(units) })
  }
  return { coinUnits: coin.coinUnits, coinNanos: coin.coinNanos, grants }
}

/** Sums of parts, while they are gathered. */
export class PartsSum {
  coinUnits = 0
  coinNanos = 0
  private readonly byGrant = new Map<string, number>()

  add({ coinUnits, coinNanos, grants }: Parts): void {
    this.coinUnits += coinUnits
    this.coinNanos += coinNanos
    for (const { grantId, units } of grants) this.byGrant.set(grantId, this.ofGrant(grantId) + units)
  }

  ofGrant(grantId: string): number {
    return this.byGrant.get(grantId) ?? 0
  }

  get grants(): GrantPart[] {
    return [...this.byGrant].map(([grantId, units]) => ({ grantId, units }))
  }
}

/**
 * Splits a charge over the parts of its hold: grants first, in their order.
 * @param coinUsdUnits units in one coin, as it was held at
 */
export function chargeParts(held: Parts, chargeUnits: number, coinUsdUnits: number): Parts {
  if (held.grants.length === 0) return coinParts(chargeUnits, coinUsdUnits, NO_GRANTS)
  let left = chargeUnits
  const grants: GrantPart[] = []
  for (const { grantId, units } of held.grants) {
    const part = Math.min(left, units)
    if (part > 0) grants.push({ grantId, units: part })
    left -= part
  }
  return coinParts(left, coinUsdUnits, grants)
}

/** Parts with the least coin that is worth `coinUnits`. */
export function coinParts(coinUnits: number, coinUsdUnits: number, grants: readonly GrantPart[]): Parts {
  return { coinUnits, coinNanos: coinFor(coinUnits, coinUsdUnits), grants }
}
