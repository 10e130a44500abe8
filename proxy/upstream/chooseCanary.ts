import type { Dialect } from '../../contract/catalog/dialects.ts'
import { placeOf } from '../../contract/std/fnv1a.ts'
import type { Model } from '../catalog/catalog.ts'
import type { Route } from '../catalog/pricedItem.ts'
import type { RouteHealth } from './routeHealth.ts'

const MILLION = 1_000_000

/** A request that a registered provider may serve. */
export interface CanaryCandidate {
  readonly requestId: string
  readonly accountId: string
}

/** The part of a request's policy that decides whether a registered provider may serve it; see RoutePolicy. */
interface Wishes {
  readonly allowRetention: boolean
  readonly allowRegistered: boolean
  readonly cheapest: boolean
  readonly dialects: ReadonlySet<Dialect>
  readonly privateImage?: string | undefined
}

/**
 * The registered provider that a request is sent to first. The request's id alone decides which one, or none, so that every
 * process decides alike; each provider has its own range of the hash values of ids.
 * @returns undefined when none may serve it, or the id is in no provider's range
 */
export function chooseCanary(
  { canaries, enabledRoutes }: Model,
  policy: Wishes,
  { requestId, accountId }: CanaryCandidate,
  health: RouteHealth,
  nowMs: number,
): Route | undefined {
  if (!policy.allowRegistered || policy.cheapest || policy.privateImage !== undefined) return undefined
  let left = placeInMillion(requestId)
  for (const canary of canaries) {
    left -= canary.trafficPpm
    if (left >= 0) continue
    const { route } = canary
    const { dialect, dataPolicy } = route.provider
    const isAllowed =
      canary.accountId !== accountId &&
      (dataPolicy === 'none' || policy.allowRetention) &&
      policy.dialects.has(dialect) &&
      // The hold of a request is computed for the dialects of the catalog's routes.
      enabledRoutes.some(({ provider }) => provider.dialect === dialect)
    return isAllowed && health.isOpen(route.id, nowMs) ? route : undefined
  }
  return undefined
}

/** Maps an id evenly to one of a million places. */
export function placeInMillion(id: string): number {
  return placeOf(id) % MILLION
}
