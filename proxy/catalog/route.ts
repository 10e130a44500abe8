import type { RouteOrderRule } from '../../contract/catalog/routeOrder.ts'
import { servesModel } from '../../contract/providers/providerKeys.ts'
import { placeOf } from '../../contract/std/fnv1a.ts'
import type { sluice } from '../../contract/wire/generated/messages.js'
import type { Provider, Route } from './pricedItem.ts'

/**
 * Decodes a route of a model; none where its provider is not known.
 * @param order of the model's routes: with one that is not by weight, those without a priority have the same
 */
export function decodeRoute(
  record: sluice.RouteRecord,
  providers: ReadonlyMap<string, Provider>,
  order: RouteOrderRule = 'weight',
): Route[] {
  const provider = providers.get(record.provider)
  if (provider === undefined) return []
  // A route of a provider without a list has all that there is; one of a list has the keys that serve its model.
  const keys = provider.keyed?.filter(({ key }) => key !== undefined && servesModel(key, record.model))
  const first = keys === undefined ? provider : (keys[0] ?? provider)
  const offered = record.enabled && provider.missingKey === '' && keys?.length !== 0
  const id = `${provider.id}/${record.model}`
  const route: Route = {
    id,
    provider: first,
    upstreamModel: record.model,
    enabled: offered && !record.switchedOff,
    switchedOff: record.switchedOff,
    offered,
    costUnits: record.costUnits ?? null,
    ...((record.priority > 0 || order !== 'weight') && {
      share: { priority: record.priority, weight: record.weight || 1, place: placeOf(id) },
    }),
    ...(order === 'first_token' && { timed: true }),
  }
  if (keys === undefined || keys.length < 2) return [route]
  const keyed: Route[] = []
  for (const one of keys) keyed.push({ ...route, provider: one, keyed })
  return [{ ...route, keyed }]
}

/** Routes in the order of their priorities; those without one stay in the order of the catalog. */
export function byPriority(routes: readonly Route[]): readonly Route[] {
  if (routes.every(({ share }) => share === undefined)) return routes
  return [...routes].sort((a, b) => (a.share?.priority ?? 0) - (b.share?.priority ?? 0))
}

/** Whether the routes leave a choice that is made for each conversation: of keys, or of routes of one priority. */
export function leaveChoice(routes: readonly Route[]): boolean {
  if (routes.some(({ keyed }) => keyed !== undefined)) return true
  const priorities = routes.flatMap(({ share }) => (share === undefined ? [] : [share.priority]))
  return new Set(priorities).size < priorities.length
}
