import type { KeySource, Secret } from '../../../contract/providers/providerKeys.ts'
import type { ProviderKey, Route } from '../../catalog/pricedItem.ts'
import type { UpstreamLimits } from '../limits.ts'

/**
 * Why a provider refused a key.
 * - `account`: it is revoked, or its account has no money or is suspended.
 * - `denied`: it may not be used for this request, perhaps for none.
 * - `rate`: its quota is used up for now.
 */
export type KeyFault = 'account' | 'denied' | 'rate'

type KeyLimits = Pick<
  UpstreamLimits,
  'accountFaultCoolMs' | 'breakerOpenMs' | 'keyRestMs' | 'keyRestLongestMs' | 'keyTrialMs'
>

export interface KeyHealthOptions {
  readonly limits: KeyLimits
  /** Reads a secret once more that its provider has refused. */
  readonly reread?: (source: KeySource) => Secret
  /** A key was put out; `isNew` for the first time since its secret changed, or since it was last accepted. */
  readonly onOut?: (key: ProviderKey, fault: KeyFault, isNew: boolean) => void
}

/** A key that requests are kept from. */
export interface KeyOut {
  /** See ProviderKey. */
  readonly key: string
  /** `unread` for one that cannot be read. */
  readonly fault: KeyFault | 'unread'
  /** When it is tried again; 0 where that is not known. */
  readonly untilMs: number
}

/** Why and until when a key is out. */
interface Rest {
  readonly key: ProviderKey
  untilMs: number
  restMs: number
  readonly fault: KeyFault
  /** The secret that was refused; another one is not out. */
  readonly secret: string
  /** One request tries it now. */
  trying: boolean
}

/** Beyond as many, those that are over are forgotten; a catalog names fewer. */
const RESTS_KEPT = 4_096

/**
 * The keys that requests are kept from, as this process sees them. A key that is refused is out for all routes of its provider; one
 * that is limited or denied is out for the route alone, because quotas are by model as a rule.
 */
export class KeyHealth {
  private readonly options: KeyHealthOptions
  private readonly rests = new Map<string, Rest>()

  constructor(options: KeyHealthOptions) {
    this.options = options
  }

  /** Whether any key is out, or was until it is next accepted. */
  get anyOut(): boolean {
    return this.rests.size > 0
  }

  /** Whether requests on the route are kept from its key now. */
  isOut(route: Route, nowMs: number): boolean {
    return this.anyOut && this.restOf(route, nowMs) !== undefined
  }

  /**
   * When the first of the routes' keys is back, and whether one of them has no more than used up its quota.
   * @returns undefined where one of them can be used now
   */
  allOut(routes: readonly Route[], nowMs: number): { readonly untilMs: number; readonly limited: boolean } | undefined {
    if (!this.anyOut) return undefined
    let untilMs = Number.POSITIVE_INFINITY
    let limited = false
    for (const route of routes) {
      const rest = this.restOf(route, nowMs)
      if (rest === undefined) return undefined
      untilMs = Math.min(untilMs, rest.untilMs)
      limited ||= rest.fault === 'rate'
    }
    return { untilMs, limited }
  }

  /** The keys that are out now; one that is out for several routes, or reasons, as often. */
  outNow(nowMs: number): readonly KeyOut[] {
    if (!this.anyOut) return []
    const out = [...this.rests.values()].filter(({ untilMs }) => untilMs > nowMs)
    return out.map(({ key, fault, untilMs }) => ({ key: key.name, fault, untilMs }))
  }

  /** A request is sent with the route's key. One that was out until now is tried by this request alone. */
  started(route: Route, nowMs: number): void {
    for (const rest of this.restsOf(route)) {
      if (rest.untilMs > nowMs) continue
      rest.trying = true
      rest.untilMs = nowMs + this.options.limits.keyTrialMs
    }
  }

  /** The provider has accepted the route's key. An answer that was asked for before the key went out says nothing. */
  worked(route: Route, nowMs: number): void {
    const { key } = route.provider
    if (key === undefined) return
    for (const name of [key.name, nameAt(route, key)]) {
      const rest = this.rests.get(name)
      if (rest !== undefined && (rest.trying || rest.untilMs <= nowMs)) this.rests.delete(name)
    }
  }

  /**
   * The provider has refused the route's key.
   * @param retryAfterMs for how long it asks for no requests; 0 where it does not say
   * @returns the route with the secret that has replaced the refused one meanwhile; else undefined, and the key is out
   */
  refused(route: Route, fault: KeyFault, retryAfterMs: number, nowMs: number): Route | undefined {
    const { key, apiKey } = route.provider
    if (key === undefined) return undefined
    const current = fault === 'rate' ? route : this.current(route)
    if (current !== route) return current
    this.putOut(
      fault === 'account' ? key.name : nameAt(route, key),
      { key, fault, secret: apiKey, retryAfterMs },
      nowMs,
    )
    return undefined
  }

  /** The route with the secret that its key has now. */
  current(route: Route): Route {
    const { key, apiKey } = route.provider
    const secret = key === undefined ? '' : (this.options.reread?.(key.source).text ?? '')
    if (secret === '' || secret === apiKey) return route
    return { ...route, provider: { ...route.provider, apiKey: secret } }
  }

  /** Forgets refused secrets that have been replaced. @returns the ids of the routes that they kept requests from */
  forgetReplaced(routes: readonly Route[]): ReadonlySet<string> {
    const freed = new Set<string>()
    const replaced = new Set<string>()
    for (const { id, provider } of routes) {
      const rest = provider.key === undefined ? undefined : this.rests.get(provider.key.name)
      if (rest === undefined || rest.secret === provider.apiKey) continue
      freed.add(id)
      replaced.add(provider.key?.name ?? '')
    }
    for (const name of replaced) this.rests.delete(name)
    return freed
  }

  private putOut(
    name: string,
    { key, fault, secret, retryAfterMs }: Pick<Rest, 'key' | 'fault' | 'secret'> & { readonly retryAfterMs: number },
    nowMs: number,
  ): void {
    const { limits, onOut } = this.options
    const known = this.rests.get(name)
    const before = known?.secret === secret ? known : undefined
    // Requests that were under way together are refused together, for one reason.
    if (before !== undefined && before.untilMs > nowMs && !before.trying) {
      before.untilMs = Math.max(before.untilMs, nowMs + retryAfterMs)
      return
    }
    // A request may be the reason for which a key is denied, so that it is out no longer than a breaker is open.
    const mostMs = fault === 'rate' ? limits.keyRestLongestMs : limits.breakerOpenMs
    const doubledMs = before === undefined ? limits.keyRestMs : Math.min(before.restMs * 2, mostMs)
    const restMs = fault === 'account' ? limits.accountFaultCoolMs : doubledMs
    const statedMs = fault === 'account' || retryAfterMs === 0 ? restMs : retryAfterMs
    if (this.rests.size >= RESTS_KEPT) this.forgetEnded(nowMs)
    this.rests.set(name, { key, untilMs: nowMs + statedMs, restMs, fault, secret, trying: false })
    onOut?.(key, fault, before === undefined)
  }

  private forgetEnded(nowMs: number): void {
    for (const [name, { untilMs }] of this.rests) if (untilMs <= nowMs) this.rests.delete(name)
  }

  /** The rest of the route's key that lasts longest. */
  private restOf(route: Route, nowMs: number): Rest | undefined {
    const lasting = this.restsOf(route).filter(({ untilMs }) => untilMs > nowMs)
    return lasting.reduce<Rest | undefined>((longest, rest) => {
      return longest === undefined || rest.untilMs > longest.untilMs ? rest : longest
    }, undefined)
  }

  /** Those of the secret that the route has. */
  private restsOf(route: Route): Rest[] {
    const { key, apiKey } = route.provider
    if (key === undefined) return []
    const found = [this.rests.get(key.name), this.rests.get(nameAt(route, key))]
    return found.filter((rest) => rest !== undefined && rest.secret === apiKey) as Rest[]
  }
}

function nameAt({ id }: Route, { name }: ProviderKey): string {
  return `${id} ${name}`
}
