import type { Logger } from 'pino'
import { type Catalog, disabledRoutes } from './catalog.ts'

/** Tells the health of routes and the log of a catalog that is in force from now on. */
export function noteCatalog(
  { sheet, providers, models, tools }: Catalog,
  health: { setDisabled(routeIds: ReturnType<typeof disabledRoutes>): void },
  log: Logger,
): void {
  log.info({ sheet: sheet.version }, 'catalog in force')
  health.setDisabled(disabledRoutes(models))
  for (const provider of providers.values()) {
    if (provider.keyMissing)
      log.warn({ provider: provider.id }, 'its key is not in the environment; its routes are off')
  }
  for (const { id, route } of tools.values()) {
    if (route.provider.keyMissing) log.warn({ tool: id }, 'its key is not in the environment; it is not sold')
  }
}
