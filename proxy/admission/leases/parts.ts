/** Units that were taken from one grant. */
export interface GrantPart {
  readonly grantId: string
  readonly units: number
}

/** Units by the pots that they come from. */
export interface Parts {
  readonly coinUnits: number
  /** Soonest expiry first; an empty list is shared and not to be changed. */
  readonly grants: readonly GrantPart[]
}

export const NO_GRANTS: readonly GrantPart[] = []
export const NO_PARTS: Readonly<Parts> = { coinUnits: 0, grants: NO_GRANTS }

export function unitsOf({ coinUnits, grants }: Parts): number {
  let units = coinUnits
  for (const part of grants) units += part.units
  return units
}

/** As the ledger reads it: `grantId=units,...,coin=units`. */
export function splitText({ coinUnits, grants }: Parts): string {
  if (grants.length === 0) return coinUnits === 0 ? '' : `coin=${coinUnits}`
  const text = grantsText(grants)
  if (coinUnits === 0) return text
  return text === '' ? `coin=${coinUnits}` : `${text},coin=${coinUnits}`
}

/** As the scripts of leases read it: `grantId=units,...`. */
export function grantsText(grants: readonly GrantPart[]): string {
  let text = ''
  for (const { grantId, units } of grants) if (units > 0) text += `${text === '' ? '' : ','}${grantId}=${units}`
  return text
}

/** Reads what `splitText` wrote. */
export function parseSplit(text: string): Parts {
  let coinUnits = 0
  const grants: GrantPart[] = []
  for (const part of text === '' ? [] : text.split(',')) {
    const [grantId = '', units] = part.split('=')
    if (grantId === 'coin') coinUnits += Number(units)
    else grants.push({ grantId, units: Number(units) })
  }
  return { coinUnits, grants }
}

/** Sums of parts, while they are gathered. */
export class PartsSum {
  coinUnits = 0
  private readonly byGrant = new Map<string, number>()

  add({ coinUnits, grants }: Parts): void {
    this.coinUnits += coinUnits
    for (const { grantId, units } of grants) this.byGrant.set(grantId, this.ofGrant(grantId) + units)
  }

  ofGrant(grantId: string): number {
    return this.byGrant.get(grantId) ?? 0
  }

  get grants(): GrantPart[] {
    return [...this.byGrant].map(([grantId, units]) => ({ grantId, units }))
  }

  get units(): number {
    return unitsOf(this)
  }
}

/** Splits a charge over what its hold was made of: grants first, in their order. */
export function chargeParts(held: Parts, chargeUnits: number): Parts {
  if (held.grants.length === 0) return { coinUnits: chargeUnits, grants: NO_GRANTS }
  let left = chargeUnits
  const grants: GrantPart[] = []
  for (const { grantId, units } of held.grants) {
    const part = Math.min(left, units)
    if (part > 0) grants.push({ grantId, units: part })
    left -= part
  }
  return { coinUnits: left, grants }
}
