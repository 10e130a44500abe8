import type { GrantPart } from '../../../contract/wire/grantParts.ts'

/** Units of a grant, or of the tokens of a lock, that are free to hold. */
export interface FreeGrant {
  readonly grantId: string
  readonly expiresAtMs: number
  units: number
}

/** The tokens of locks that a lease has free, by series, in units at the locked price. */
export class FreeLocks {
  /** Changes whenever tokens that were taken before belong to Redis again. */
  generation = 0
  private pots: FreeGrant[] = []

  add({ grantId, expiresAtMs, units }: FreeGrant): void {
    const known = this.of(grantId)
    if (known === undefined) this.pots.push({ grantId, expiresAtMs, units })
    else known.units += units
  }

  of(seriesId: string): FreeGrant | undefined {
    return this.pots.find(({ grantId }) => grantId === seriesId)
  }

  /** The units of a series that may be held now. */
  unitsOf(seriesId: string, nowMs: number): number {
    const known = this.of(seriesId)
    return known !== undefined && known.expiresAtMs > nowMs ? known.units : 0
  }

  /** Reserves tokens for a request. @param units at most the free units of the series */
  take(seriesId: string, units: number): GrantPart {
    const known = this.of(seriesId)
    if (known !== undefined) known.units -= units
    return { grantId: seriesId, units }
  }

  /** All that is free; nothing is left. */
  takeAll(): readonly FreeGrant[] {
    const { pots } = this
    if (pots.length > 0) this.pots = []
    return pots
  }

  /** Redis has it again, as all that was taken and is not held. */
  void(): void {
    this.pots = []
    this.generation++
  }
}
