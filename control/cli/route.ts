import { disableRoute, enableRoute, type ListedRoute, listRoutes } from '../catalog/pricing/routeSwitches.ts'
import { syncCatalog } from '../catalog/pricing/syncCatalog.ts'
import { signingWith } from '../catalog/signing/signCatalog.ts'
import { OPERATOR } from '../runtime/activity/activity.ts'
import { type Client, withTransaction } from '../runtime/db/pool.ts'
import { type Arguments, argument, type CommandGroup, flag, UsageError } from './command.ts'
import type { CliContext } from './context.ts'
import { table } from './table.ts'
import { formatTime } from './values.ts'

const REASON_CHARACTERS_MAX = 500

function serves({ enabled, disabledBy }: ListedRoute): boolean {
  return enabled && disabledBy === undefined
}

function routeJson({ route, model, enabled, disabledBy }: ListedRoute) {
  return {
    route,
    model,
    enabled: enabled && disabledBy === undefined,
    catalog_enabled: enabled,
    disabled_by: disabledBy?.route ?? null,
    reason: disabledBy?.reason || null,
    disabled_at: disabledBy === undefined ? null : formatTime(disabledBy.disabledAtMs),
  }
}

function stateOf({ enabled, disabledBy }: ListedRoute): string {
  if (disabledBy !== undefined) return `disabled ${disabledBy.reason && `(${disabledBy.reason})`}`.trim()
  return enabled ? 'enabled' : 'off in the catalog'
}

async function list(_args: Arguments, context: CliContext): Promise<undefined> {
  const routes = await listRoutes(await context.pool(), context.limits)
  const rows = routes.map((route) => [route.route, route.model, stateOf(route)])
  const text = rows.length === 0 ? 'no catalog is published' : table(['ROUTE', 'MODEL', 'STATE'], rows)
  context.print({ data: routes.map(routeJson) }, text)
}

async function change(
  context: CliContext,
  route: string,
  what: 'disabled' | 'enabled',
  work: (client: Client) => Promise<readonly ListedRoute[]>,
): Promise<undefined> {
  const pool = await context.pool()
  const sign = signingWith(context.catalogKey, context.limits)
  const routes = await withTransaction(pool, async (client) => {
    const changed = await work(client)
    await sign?.(client, Date.now())
    return changed
  })
  try {
    await syncCatalog(pool, await context.redis(), context.limits)
  } catch (error) {
    context.warn(`note: the proxies will hear of it from control: ${(error as Error).message}`)
  }
  const models = [...new Set(routes.map(({ model }) => model))]
  const unavailable = models.filter((model) => !routes.some((one) => one.model === model && serves(one)))
  const text = [`route ${route} is ${what}`, ...unavailable.map((model) => `no route is left for ${model}`)]
  context.print({ route, enabled: what === 'enabled', models_without_route: unavailable }, text.join('\n'))
}

function disable(args: Arguments, context: CliContext): Promise<undefined> {
  const reason = (flag(args, 'reason') ?? '').trim()
  if (reason.length > REASON_CHARACTERS_MAX)
    throw new UsageError(`--reason may have ${REASON_CHARACTERS_MAX} characters`)
  const route = argument(args, 'ROUTE')
  return change(context, route, 'disabled', (client) => disableRoute(client, OPERATOR, route, reason, context.limits))
}

function enable(args: Arguments, context: CliContext): Promise<undefined> {
  const route = argument(args, 'ROUTE')
  return change(context, route, 'enabled', (client) => enableRoute(client, OPERATOR, route, context.limits))
}

export const ROUTE: CommandGroup = {
  name: 'route',
  summary: 'take routes to providers out of service and back',
  commands: [
    { synopsis: 'list', summary: 'Lists the routes of all models.', run: list },
    {
      synopsis: 'disable <ROUTE>',
      summary: 'Stops new requests to PROVIDER/MODEL or PROVIDER/* within a second, whatever the catalog says.',
      flags: { reason: { value: 'TEXT', help: 'reason, shown in the list' } },
      run: disable,
    },
    { synopsis: 'enable <ROUTE>', summary: 'Enables a disabled route; the catalog decides again.', run: enable },
  ],
}
