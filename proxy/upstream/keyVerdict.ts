import { GatewayError } from '../../contract/errors/errors.ts'
import type { RefusalFigures } from '../../contract/errors/figures.ts'
import type { Route } from '../catalog/pricedItem.ts'
import { BUSY, type Refusal } from './refusal.ts'
import type { RouteHealth } from './routeHealth.ts'

/** The consequences of an answer that refuses one of several keys, or a secret that was just replaced. */
export interface KeyVerdict {
  /** The route with its new secret, which is asked immediately. */
  readonly renewed?: Route
  /** The client's error if no other key or route is left. */
  readonly error: GatewayError
}

/**
 * Notes that a key was refused. The route itself is well then: its breaker does not count it, and it rests only while all of its
 * keys are out.
 * @returns undefined for an answer that is no fault of a key, or where the route has one key, which is treated as the route
 */
export function judgeKey(
  health: RouteHealth,
  route: Route,
  { keyFault, retryAfterMs, error }: Refusal,
  nowMs: number,
): KeyVerdict | undefined {
  if (keyFault === undefined) return undefined
  const renewed = health.keys.refused(route, keyFault, retryAfterMs, nowMs)
  if (renewed === undefined && route.keyed === undefined) return undefined
  health.undecided(route.id)
  if (renewed !== undefined) return { renewed, error }
  const out = health.keys.allOut(route.keyed ?? [], nowMs)
  if (out === undefined) return { error }
  health.coolDown(route.id, out.untilMs)
  return { error: out.limited ? limited(out.untilMs - nowMs) : error }
}

/** The error while all providers of a model limit the gateway. */
export function limited(waitMs: number, figures?: RefusalFigures): GatewayError {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new GatewayError('rate_limited', { message: BUSY, retryAfterSeconds, ...(figures && { figures }) })
}
