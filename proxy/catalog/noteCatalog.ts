import type { Logger } from 'pino'
import { logEvent } from '../logEvents.ts'
import { type Catalog, disabledRoutes } from './catalog.ts'

/** Reports a new catalog in force to the health of routes and to the log. */
export function noteCatalog(
  { sheet, providers, models, tools }: Catalog,
  health: { setDisabled(routeIds: ReturnType<typeof disabledRoutes>): void },
  log: Logger,
): void {
  logEvent(log, 'catalog_in_force', { sheet: sheet.version })
  health.setDisabled(disabledRoutes(models))
  for (const provider of providers.values()) {
    if (provider.keyMissing) logEvent(log, 'provider_key_missing', { provider: provider.id })
  }
  for (const { id, route } of tools.values()) {
    if (route.provider.keyMissing) logEvent(log, 'tool_key_missing', { tool: id })
  }
}
