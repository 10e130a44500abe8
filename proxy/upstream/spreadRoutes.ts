import type { RouteOrderRule } from '../../contract/catalog/routeOrder.ts'
import type { Route } from '../catalog/pricedItem.ts'
import { byAffinity, type Candidate } from './keys/rendezvous.ts'
import type { RouteHealth } from './routeHealth.ts'

/** Times to the first output are graded in steps of this factor; within one, conversations keep their route. */
const STEP = 1.25
/** A route that is not measured is tried by one of so many conversations. */
const TRIED_BY_ONE_OF = 16

/**
 * The routes in the order that a conversation asks them, each with the keys that it may use now: routes of one priority by the
 * order of their model, and by the affinity where that leaves them equal; keys of one route by its affinity. A route whose keys
 * are all out rests until the first is back.
 * @param order null leaves the routes as they are
 */
export function spreadRoutes(
  routes: readonly Route[],
  affinity: number,
  order: RouteOrderRule | null,
  health: RouteHealth,
  nowMs: number,
): readonly Route[] {
  const ordered = order === null ? routes : shared(routes, affinity, rankOf(order))
  return ordered.flatMap((route) => (route.keyed === undefined ? [route] : withKeys(route, route.keyed)))

  /** By which routes of one priority are ordered, the lowest first; undefined where only the affinity counts. */
  function rankOf(rule: RouteOrderRule): ((route: Route) => number) | undefined {
    if (rule === 'weight') return undefined
    if (rule === 'price') return ({ costUnits }) => costUnits ?? Number.POSITIVE_INFINITY
    return ({ id, share }) => {
      const ms = health.firstTokens.of(id, nowMs)
      if (ms !== undefined) return Math.floor(Math.log(Math.max(1, ms)) / Math.log(STEP))
      const isTried = (affinity ^ (share?.place ?? 0)) % TRIED_BY_ONE_OF === 0
      return isTried ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
    }
  }

  function withKeys({ id }: Route, keyed: readonly Route[]): readonly Route[] {
    const allOut = health.keys.allOut(keyed, nowMs)
    if (allOut !== undefined) {
      health.coolDown(id, allOut.untilMs)
      return []
    }
    const usable = keyed.filter((route) => !health.keys.isOut(route, nowMs))
    return byAffinity(usable, affinity, keyCandidate)
  }
}

/** Routes whose neighbors have the same priority, by their rank and the affinity. */
function shared(routes: readonly Route[], affinity: number, rank?: (route: Route) => number): readonly Route[] {
  const groups: Route[][] = []
  for (const route of routes) {
    const group = groups.at(-1)
    const priority = group?.[0]?.share?.priority
    if (group !== undefined && priority !== undefined && priority === route.share?.priority) group.push(route)
    else groups.push([route])
  }
  return groups.flatMap((group) => {
    const routesShared = byAffinity(group, affinity, routeCandidate)
    return rank === undefined || group.length < 2 ? routesShared : ranked(routesShared, rank)
  })
}

function ranked(routes: readonly Route[], rank: (route: Route) => number): readonly Route[] {
  const placed = routes.map((route) => ({ route, at: rank(route) }))
  return placed.sort((a, b) => (a.at === b.at ? 0 : a.at - b.at)).map(({ route }) => route)
}

const NONE: Candidate = { weight: 1, place: 0 }

function keyCandidate({ provider }: Route): Candidate {
  return provider.key ?? NONE
}

function routeCandidate({ share }: Route): Candidate {
  return share ?? NONE
}
