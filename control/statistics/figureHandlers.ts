import type { ApiHandler } from '../api/call.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import { ecosystemJson } from './ecosystem.ts'
import { indexJson } from './indexJson.ts'
import type { StatisticsLimits } from './limits.ts'
import { type NetworkParts, networkJson } from './network.ts'
import { PriceIndexes } from './priceIndex.ts'
import { rankingsJson } from './rankings.ts'
import { statsJson } from './stats.ts'

/** The public figures of the gateway. @param network the configuration */
export function figureHandlers(db: Queryable, network: NetworkParts, limits: StatisticsLimits) {
  const indexes = new PriceIndexes(db, limits)
  return {
    get_stats: { read: async ({ query }) => ({ json: await statsJson(db, query, limits) }) },
    get_rankings: { read: async ({ query }) => ({ json: await rankingsJson(db, query, limits) }) },
    get_index: { read: async ({ query }) => ({ json: await indexJson(indexes, query, limits) }) },
    get_network: { read: async () => ({ json: await networkJson(db, network) }) },
    get_ecosystem: { read: async () => ({ json: await ecosystemJson(db, indexes, limits) }) },
  } as const satisfies Record<string, ApiHandler>
}
