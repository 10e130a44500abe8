import type { GatewayError } from '../../contract/errors/errors.ts'
import type { Route } from '../catalog/pricedItem.ts'
import type { AttemptsOptions, EarlierTurns } from './attemptsOptions.ts'
import { judgeKey, limited } from './keyVerdict.ts'
import type { Refusal } from './refusal.ts'

/** The next step of a request after an attempt that failed. */
export interface Turn {
  /** The route that is asked next; absent where the request ends. */
  readonly route?: Route | undefined
  /** The client's error where it ends. */
  readonly error: GatewayError
}

/** The turns of one request over its routes and their keys, and what each failure says of them. */
export class RouteTurns implements EarlierTurns {
  /** Attempts of the request that were begun, over the routes of every model that it was sent to. */
  begun: number

  private readonly options: AttemptsOptions
  readonly deadlineMs: number
  private tried = 0
  private askedAtMs = 0
  private next = 1
  private keysRefused = 0
  /** The error with the least wait, among those of providers that limit the gateway. */
  private limited: GatewayError | undefined

  constructor(options: AttemptsOptions) {
    const { earlier, limits } = options
    this.options = options
    this.begun = earlier?.begun ?? 0
    this.deadlineMs = earlier?.deadlineMs ?? Date.now() + limits.totalTimeoutMs
  }

  /** Whether the time of the request is up. */
  isOver(nowMs: number): boolean {
    return nowMs >= this.deadlineMs
  }

  /** The time that is left for one more attempt, in milliseconds. */
  leftMs(nowMs: number): number {
    return Math.max(1, this.deadlineMs - nowMs)
  }

  begin({ timed }: Route): void {
    this.tried++
    this.begun++
    if (timed === true) this.askedAtMs = Date.now()
  }

  /** The first output of the route has arrived, of a stream or of a whole answer. */
  noteOutput({ timed, id }: Route): void {
    const { streamed, health } = this.options
    if (timed !== true || streamed !== true) return
    const nowMs = Date.now()
    health.firstTokens.note(id, nowMs - this.askedAtMs, nowMs)
  }

  /** @param mayMoveOn another route may be asked, by the rule of the operation; no more once the deadline is over */
  after(route: Route, refusal: Refusal, mayMoveOn: boolean, nowMs: number): Turn {
    const verdict = judgeKey(this.options.health, route, refusal, nowMs)
    if (verdict === undefined) this.noteRoute(route, refusal, nowMs)
    else this.keysRefused++
    const ofKey = verdict !== undefined
    const error = this.leastWait(verdict?.error ?? refusal.error, ofKey)
    const mayAsk = refusal.elsewhere && mayMoveOn && !this.isOver(nowMs)
    if (!mayAsk || !this.hasTryLeft(ofKey)) return { error }
    return { route: verdict?.renewed ?? this.nextRoute(route, ofKey, nowMs), error }
  }

  /** The quota of the route's key has no room for so long: it was not asked, which counts as no attempt. */
  afterFull(route: Route, waitMs: number, mayMoveOn: boolean, nowMs: number): Turn {
    const error = this.leastWait(limited(waitMs), true)
    return mayMoveOn && !this.isOver(nowMs) ? { route: this.nextRoute(route, true, nowMs), error } : { error }
  }

  private noteRoute({ id }: Route, refusal: Refusal, nowMs: number): void {
    const { health, limits, accountId } = this.options
    const coolMs = refusal.accountFault === undefined ? refusal.retryAfterMs : limits.accountFaultCoolMs
    if (coolMs > 0) health.coolDown(id, nowMs + coolMs, refusal.keyFault === 'rate')
    if (refusal.routeFault) health.failed(id, nowMs, refusal.perhapsRequest ? accountId : undefined)
    else health.undecided(id)
  }

  private hasTryLeft(ofKey: boolean): boolean {
    const { keyAttemptsMax, routeAttemptsMax } = this.options.limits
    if (ofKey) return this.keysRefused < keyAttemptsMax
    return this.tried - this.keysRefused < routeAttemptsMax
  }

  /** A route that fails for itself fails with each of its keys. */
  private nextRoute(failed: Route, ofKey: boolean, nowMs: number): Route | undefined {
    const { routes, health } = this.options
    while (this.next < routes.length) {
      const other = routes[this.next++]
      if (other === undefined || health.isDisabled(other.id)) continue
      if (other.keyed === undefined) return other
      const isSame = !ofKey && other.id === failed.id
      if (!isSame && !health.keys.isOut(other, nowMs)) return other
    }
    return undefined
  }

  private leastWait(error: GatewayError, ofKey: boolean): GatewayError {
    if (error.row !== 'rate_limited') return ofKey ? (this.limited ?? error) : error
    if (this.limited === undefined || waitOf(error) < waitOf(this.limited)) this.limited = error
    return this.limited
  }
}

function waitOf({ retryAfterSeconds = 0 }: GatewayError): number {
  return retryAfterSeconds
}
