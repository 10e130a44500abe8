import type { Route } from '../catalog/pricedItem.ts'
import { FirstTokens } from './firstTokens.ts'
import { KeyHealth } from './keys/keyHealth.ts'
import type { UpstreamLimits } from './limits.ts'

/** How many times the usual number of failures a single account has to see before a route is closed for all accounts. */
const SOLE_ACCOUNT_FACTOR = 4

interface Health {
  /** Failures since the last success that no request can cause: no connection, or a timeout. */
  ownFailures: number
  /** Failures since the last success that a request may have caused, and the accounts of those requests. */
  answeredFailures: number
  account: string
  severalAccounts: boolean
  /** Answers since the last whole one that were given up after their first output. */
  brokenAnswers: number
  /** The circuit breaker is open until then; after it, one request tries. */
  openUntilMs: number
  trying: boolean
  /** Until when the provider asked for no requests (Retry-After). */
  coolUntilMs: number
  /** The same where it limits the gateway's rate. */
  limitedUntilMs: number
}

/** Circuit breakers of the routes. A breaker opens after consecutive failures and closes on a success. */
export class RouteHealth {
  private readonly limits: UpstreamLimits
  private readonly routes = new Map<string, Health>()
  /** The health of the providers' keys. */
  readonly keys: KeyHealth
  /** Of routes that are chosen by it. */
  readonly firstTokens: FirstTokens
  private disabled: ReadonlySet<string> = new Set()
  /** Routes that have answered since `take`; as many as there are in the catalog. */
  private well = new Set<string>()

  constructor(limits: UpstreamLimits, keys = new KeyHealth({ limits })) {
    this.limits = limits
    this.keys = keys
    this.firstTokens = new FirstTokens(limits)
  }

  /** Sets the routes that are disabled now, so that no request under way fails over to one of them. */
  setDisabled(routeIds: ReadonlySet<string>): void {
    this.disabled = routeIds
  }

  isDisabled(routeId: string): boolean {
    return this.disabled.has(routeId)
  }

  /** Whether a request may go to the route now. */
  isOpen(routeId: string, nowMs: number): boolean {
    const health = this.routes.get(routeId)
    if (health === undefined) return true
    if (health.coolUntilMs > nowMs) return false
    if (!this.hasTripped(health)) return true
    return health.openUntilMs <= nowMs && !health.trying
  }

  /** Whether the provider has asked for no requests for now (Retry-After). */
  isCooling(routeId: string, nowMs: number): boolean {
    return (this.routes.get(routeId)?.coolUntilMs ?? 0) > nowMs
  }

  /** Milliseconds until the route may be tried again; 0 when it may be now. */
  waitMs(routeId: string, nowMs: number): number {
    const health = this.routes.get(routeId)
    if (health === undefined || this.isOpen(routeId, nowMs)) return 0
    return Math.max(1, Math.max(health.coolUntilMs, health.openUntilMs) - nowMs)
  }

  /** A request is sent to the route; every call is followed by one of the outcomes below. */
  started(routeId: string): void {
    const health = this.routes.get(routeId)
    if (health !== undefined && this.hasTripped(health)) health.trying = true
  }

  /** An answer has arrived whole. */
  succeeded(routeId: string): void {
    this.routes.delete(routeId)
    this.well.add(routeId)
  }

  /** The routes that requests are kept from now, and those that have answered whole since the last call. */
  take(nowMs: number): { readonly failing: string[]; readonly well: string[] } {
    const { well } = this
    this.well = new Set()
    return { failing: this.out(nowMs), well: [...well] }
  }

  /** The routes that requests are kept from now. */
  out(nowMs: number): string[] {
    return [...this.routes.keys()].filter((routeId) => !this.isOpen(routeId, nowMs))
  }

  /** The first output of an answer has arrived. Whether the route breaks its answers off is not known yet. */
  answers(routeId: string): void {
    const health = this.routes.get(routeId)
    if (health === undefined) return
    if (health.brokenAnswers === 0) this.routes.delete(routeId)
    else Object.assign(health, { ownFailures: 0, answeredFailures: 0, trying: false, coolUntilMs: 0 })
  }

  /**
   * An answer turned out to be unusable after its first output.
   * @param accountId the account of the request, which may have caused it
   */
  broke(routeId: string, nowMs: number, accountId: string): void {
    const health = this.healthOf(routeId)
    health.trying = false
    noteAccount(health, accountId)
    health.brokenAnswers++
    if (this.hasTripped(health)) health.openUntilMs = nowMs + this.limits.breakerOpenMs
  }

  /**
   * @param accountId the account of the request, when the request rather than the route may have caused the failure. Such
   *   failures open the circuit breaker only once they have hit several accounts, or one account for long.
   */
  failed(routeId: string, nowMs: number, accountId?: string): void {
    const health = this.healthOf(routeId)
    health.trying = false
    if (accountId === undefined) {
      health.ownFailures++
    } else {
      noteAccount(health, accountId)
      health.answeredFailures++
    }
    if (this.hasTripped(health)) health.openUntilMs = nowMs + this.limits.breakerOpenMs
  }

  /** The request ended without telling anything about the route. */
  undecided(routeId: string): void {
    const health = this.routes.get(routeId)
    if (health !== undefined) health.trying = false
  }

  /** @param isLimited the provider limits the gateway's rate */
  coolDown(routeId: string, untilMs: number, isLimited = false): void {
    const health = this.healthOf(routeId)
    health.trying = false
    health.coolUntilMs = Math.max(health.coolUntilMs, untilMs)
    if (isLimited) health.limitedUntilMs = Math.max(health.limitedUntilMs, untilMs)
  }

  /** Whether the provider has asked for no requests for now because it limits the gateway's rate. */
  isLimited(routeId: string, nowMs: number): boolean {
    return this.isCooling(routeId, nowMs) && (this.routes.get(routeId)?.limitedUntilMs ?? 0) > nowMs
  }

  /** Keys of providers have changed: requests are not kept from routes any more for keys that were replaced, or where one was added. */
  keysChanged(routes: readonly Route[], nowMs: number): void {
    const freed = this.keys.forgetReplaced(routes.flatMap((route) => route.keyed ?? [route]))
    for (const { id, keyed } of routes) {
      const health = this.routes.get(id)
      const hasKey = keyed !== undefined && this.keys.allOut(keyed, nowMs) === undefined
      if (health !== undefined && (hasKey || freed.has(id))) health.coolUntilMs = 0
    }
  }

  private hasTripped({ ownFailures, answeredFailures, brokenAnswers, severalAccounts }: Health): boolean {
    const { breakerFailures } = this.limits
    const all = ownFailures + answeredFailures + brokenAnswers
    const counted = severalAccounts ? all : ownFailures
    return counted >= breakerFailures || all >= breakerFailures * SOLE_ACCOUNT_FACTOR
  }

  private healthOf(routeId: string): Health {
    let health = this.routes.get(routeId)
    if (health === undefined) {
      health = {
        ownFailures: 0,
        answeredFailures: 0,
        account: '',
        severalAccounts: false,
        brokenAnswers: 0,
        openUntilMs: 0,
        trying: false,
        coolUntilMs: 0,
        limitedUntilMs: 0,
      }
      this.routes.set(routeId, health)
    }
    return health
  }
}

function noteAccount(health: Health, accountId: string): void {
  if (health.answeredFailures + health.brokenAnswers > 0 && health.account !== accountId) health.severalAccounts = true
  health.account = accountId
}
