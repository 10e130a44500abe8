import type { Route } from '../catalog/pricedItem.ts'
import type { Permit, Permits } from '../quotas/permit.ts'
import type { Pot } from '../quotas/pot.ts'
import type { AttemptsOptions } from './attemptsOptions.ts'

/** The quota of the key that a route is asked with; undefined for none. */
export function potOf({ provider }: Route): Pot | undefined {
  return provider.key?.pot
}

/** An attempt that waits for the quota of its key; one of the calls follows where it still wants to ask the key. */
export interface KeyPermitListener {
  readonly isWanted: () => boolean
  /** The key may be asked. Where Redis does not answer, the provider itself decides. */
  readonly onPermit: () => void
  /** The key has no room for so long. */
  readonly onFull: (waitMs: number) => void
  readonly onCrashed: (error: unknown) => void
}

/** The permit of the attempt that is under way, by the quota of its key. */
export class KeyPermit {
  private readonly permits: Permits
  private readonly tokensMax: number
  private current: Permit | undefined

  /** @param tokensMax that the request may use */
  constructor(permits: Permits, tokensMax: number) {
    this.permits = permits
    this.tokensMax = tokensMax
  }

  /** A request that could use more than a whole minute's tokens needs all of them. */
  take(pot: Pot, { isWanted, onPermit, onFull, onCrashed }: KeyPermitListener): void {
    const { tokensPerMinute } = pot
    const tokens = tokensPerMinute === 0 ? this.tokensMax : Math.min(this.tokensMax, tokensPerMinute)
    this.permits.take([pot], tokens, {
      onPermit: (permit) => {
        if (!isWanted()) {
          permit.end(0)
          return
        }
        this.current = permit
        onPermit()
      },
      onDenied: ({ code, waitMs }) => {
        if (!isWanted()) return
        if (code === undefined) onPermit()
        else onFull(waitMs)
      },
      onCrashed,
    })
  }

  /** @param usedTokens undefined where they are not known */
  end(usedTokens: number | undefined): void {
    this.current?.end(usedTokens)
    this.current = undefined
  }
}

/** The permits of a request over its routes; undefined where no key has a quota. */
export function keyPermitOf({
  permits,
  tokensMax = 0,
  routes,
}: Pick<AttemptsOptions, 'permits' | 'tokensMax' | 'routes'>): KeyPermit | undefined {
  return permits !== undefined && routes.some(potOf) ? new KeyPermit(permits, tokensMax) : undefined
}
