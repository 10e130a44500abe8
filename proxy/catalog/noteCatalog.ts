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
    const variable = provider.missingKeyEnv
    if (variable !== '') logEvent(log, 'provider_key_missing', { provider: provider.id, variable })
  }
  for (const { id, route } of tools.values()) {
    const variable = route.provider.missingKeyEnv
    if (variable !== '') logEvent(log, 'tool_key_missing', { tool: id, variable })
  }
}
