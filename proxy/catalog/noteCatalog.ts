import type { Logger } from 'pino'
import { logEvent } from '../logEvents.ts'
import { type Catalog, disabledRoutes } from './catalog.ts'
import type { Route } from './pricedItem.ts'

/** The part of the health of routes that the catalog decides. */
interface NotedHealth {
  setDisabled(routeIds: ReturnType<typeof disabledRoutes>): void
  keysChanged(routes: readonly Route[], nowMs: number): void
}

/** Reports a new catalog in force to the health of routes and to the log. */
export function noteCatalog({ sheet, providers, models, tools }: Catalog, health: NotedHealth, log: Logger): void {
  logEvent(log, 'catalog_in_force', { sheet: sheet.version })
  health.setDisabled(disabledRoutes(models))
  health.keysChanged(routesOf(models), Date.now())
  noteUnread(providers, log)
  for (const { id, route } of tools.values()) {
    const variable = route.provider.missingKey
    if (variable !== '') logEvent(log, 'tool_key_missing', { tool: id, variable })
  }
}

/** Reports the catalog in force after keys of its providers have changed. */
export function noteKeys({ providers, models }: Catalog, health: Pick<NotedHealth, 'keysChanged'>, log: Logger): void {
  logEvent(log, 'provider_keys_changed')
  health.keysChanged(routesOf(models), Date.now())
  noteUnread(providers, log)
}

function routesOf(models: Catalog['models']): Route[] {
  return [...models.values()].flatMap(({ enabledRoutes }) => enabledRoutes)
}

function noteUnread(providers: Catalog['providers'], log: Logger): void {
  for (const provider of providers.values()) {
    for (const { id: key, place, isFile, fault } of provider.unread ?? []) {
      const where = isFile ? { path: place, fault } : { variable: place }
      logEvent(log, 'provider_key_missing', { provider: provider.id, key, ...where })
    }
  }
}
