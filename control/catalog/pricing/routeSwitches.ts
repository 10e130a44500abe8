import { sluice } from '../../../contract/wire/generated/messages.js'
import { type Actor, GATEWAY_WIDE, recordActivity } from '../../runtime/activity/activity.ts'
import { lockUntilCommit } from '../../runtime/db/locks.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import type { CatalogLimits } from '../limits.ts'
import { currentRecord, insertRecord } from './sheetStore.ts'

/** A route that cannot be switched; the message says why. */
export class RouteSwitchError extends Error {
  override readonly name = 'RouteSwitchError'
}

/** A route that is disabled by hand: `provider/model`, or `provider/*` for all of a provider. */
export interface RouteSwitch {
  readonly route: string
  readonly reason: string
  readonly disabledAtMs: number
}

/** A route of a model as the catalog in force has it. */
export interface ListedRoute {
  readonly route: string
  readonly model: string
  /** By the catalog. */
  readonly enabled: boolean
  /** By hand. */
  readonly disabledBy: RouteSwitch | undefined
}

const ALL = '/*'

export async function routeSwitches(db: Queryable, limits: CatalogLimits): Promise<RouteSwitch[]> {
  const found = await db.query<{ route: string; reason: string; disabled_at: Date }>(
    'SELECT route, reason, disabled_at FROM route_switches ORDER BY route LIMIT $1',
    [limits.routeSwitchesMax],
  )
  return found.rows.map(({ route, reason, disabled_at: at }) => ({ route, reason, disabledAtMs: at.getTime() }))
}

/** The switch that disables a route, if one does. */
export function switchOf(
  switches: readonly RouteSwitch[],
  { provider, model }: sluice.RouteRecord.$Properties,
): RouteSwitch | undefined {
  return switches.find(({ route }) => route === `${provider}/${model}` || route === `${provider}${ALL}`)
}

/** The routes of the catalog in force. */
export async function listRoutes(db: Queryable, limits: CatalogLimits): Promise<ListedRoute[]> {
  const encoded = await currentRecord(db)
  return encoded === undefined ? [] : listed(sluice.CatalogRecord.decode(encoded), await routeSwitches(db, limits))
}

function listed(record: sluice.CatalogRecord, switches: readonly RouteSwitch[]): ListedRoute[] {
  return record.models.flatMap((model) =>
    (model.routes ?? []).map((route) => ({
      route: `${route.provider}/${route.model}`,
      model: model.id ?? '',
      enabled: route.enabled === true,
      disabledBy: switchOf(switches, route),
    })),
  )
}

/**
 * Disables a route, or all of a provider, in the caller's transaction; a route that is already disabled gets the new reason.
 * Redis gets it from `syncCatalog`.
 * @returns the routes of the catalog
 * @throws RouteSwitchError when the catalog in force has no such route
 */
export async function disableRoute(
  client: Client,
  actor: Actor,
  route: string,
  reason: string,
  limits: CatalogLimits,
): Promise<readonly ListedRoute[]> {
  await lockUntilCommit(client, 'publication')
  const known = (await listRoutes(client, limits)).some((one) =>
    switchOf([{ route, reason, disabledAtMs: 0 }], partsOf(one)),
  )
  if (!known) throw new RouteSwitchError(`the catalog in force has no route ${route}; see route list`)
  await client.query(
    'INSERT INTO route_switches (route, reason) VALUES ($1, $2) ON CONFLICT (route) DO UPDATE SET reason = EXCLUDED.reason',
    [route, reason],
  )
  const change = { accountId: GATEWAY_WIDE, type: 'route.disabled', target: route, details: { reason } }
  await recordActivity(client, actor, [change])
  return republish(client, limits)
}

/**
 * Reverts a switch, in the caller's transaction; Redis gets it from `syncCatalog`.
 * @returns the routes of the catalog
 * @throws RouteSwitchError when the route is not disabled by hand, or only with its whole provider
 */
export async function enableRoute(
  client: Client,
  actor: Actor,
  route: string,
  limits: CatalogLimits,
): Promise<readonly ListedRoute[]> {
  await lockUntilCommit(client, 'publication')
  const removed = await client.query('DELETE FROM route_switches WHERE route = $1', [route])
  if (removed.rowCount === 0) {
    const listedRoute = (await listRoutes(client, limits)).find((one) => one.route === route)
    const by = listedRoute?.disabledBy?.route
    throw new RouteSwitchError(
      by === undefined ? `${route} is not disabled by hand` : `${route} is disabled with ${by}; enable that`,
    )
  }
  await recordActivity(client, actor, [{ accountId: GATEWAY_WIDE, type: 'route.enabled', target: route }])
  return republish(client, limits)
}

function partsOf({ route }: ListedRoute): { provider: string; model: string } {
  const slash = route.indexOf('/')
  return { provider: route.slice(0, slash), model: route.slice(slash + 1) }
}

/** Puts the switches into the record in force. @returns its routes */
async function republish(client: Client, limits: CatalogLimits): Promise<readonly ListedRoute[]> {
  const before = await currentRecord(client)
  if (before === undefined) throw new RouteSwitchError('no catalog is published yet: start control')
  const record = sluice.CatalogRecord.decode(before)
  const switches = await routeSwitches(client, limits)
  for (const route of record.models.flatMap((model) => model.routes ?? [])) {
    if (switchOf(switches, route) === undefined) delete route.switchedOff
    else route.switchedOff = true
  }
  const after = Buffer.from(sluice.CatalogRecord.encode(record).finish())
  if (!after.equals(before)) await insertRecord(client, record.version, after, Date.now())
  return listed(record, switches)
}
