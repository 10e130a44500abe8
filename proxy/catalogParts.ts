import type { Logger } from 'pino'
import type { Redis } from '../contract/wire/redis.ts'
import type { Catalog } from './catalog/catalog.ts'
import { CatalogStore } from './catalog/catalogStore.ts'
import { KeySecrets } from './catalog/keySecrets.ts'
import { noteCatalog, noteKeys } from './catalog/noteCatalog.ts'
import type { Limits } from './limits.ts'
import { faultLog } from './logEvents.ts'
import type { RequestMetrics } from './metrics/requestMetrics.ts'
import { keyFaults } from './providerFaults.ts'
import { KeyHealth, type KeyOut } from './upstream/keys/keyHealth.ts'
import { RouteHealth } from './upstream/routeHealth.ts'

/** The parts of a worker that the catalog needs. */
export interface CatalogPartsOptions {
  readonly redis: Pick<Redis, 'getBuffer'>
  readonly busKeys: readonly Buffer[]
  readonly limits: Limits
  readonly metrics: RequestMetrics
  readonly log: Logger
}

/**
 * The catalog in force, the secrets of its providers' keys, and the health of its routes and keys, each of which hears of changes of
 * the others; `keysOut` lists the keys that serve no requests now.
 */
export function catalogParts({ redis, busKeys, limits, metrics, log }: CatalogPartsOptions): {
  readonly catalog: CatalogStore
  readonly health: RouteHealth
  readonly secrets: KeySecrets
  readonly keysOut: () => readonly KeyOut[]
} {
  const secrets = new KeySecrets(process.env, limits)
  const keys = new KeyHealth({ limits, reread: (source) => secrets.again(source), onOut: keyFaults(metrics, log) })
  const health = new RouteHealth(limits, keys)
  const catalog = new CatalogStore({
    redis,
    busKeys,
    secrets,
    onChange: (changed) => noteCatalog(changed, health, log),
    onKeysChanged: (changed) => noteKeys(changed, health, log),
    onFault: faultLog(log)('catalog_read_failed'),
  })
  const keysOut = () => [...health.keys.outNow(Date.now()), ...unreadKeys(catalog.current)]
  return { catalog, health, secrets, keysOut }
}

function unreadKeys(catalog: Catalog | null): KeyOut[] {
  return [...(catalog?.providers.values() ?? [])].flatMap(({ id, unread = [] }) =>
    unread.map((key) => ({ key: `${id}/${key.id}`, fault: 'unread' as const, untilMs: 0 })),
  )
}
