import { sluice } from '../../../contract/wire/generated/messages.js'
import type { Product } from '../../api/product.ts'
import { providerHandlers } from './providers/providerHandlers.ts'
import { providerGauges } from './serving/providerGauges.ts'
import { ServingService } from './serving/servingService.ts'

/** Endpoints that customers register, and the requests that they serve. */
export const MARKETPLACE: Product = {
  name: 'marketplace',
  make: (parts) => {
    const { pool, redis, log, environment, limits } = parts
    const serving = new ServingService({ ...environment, pool, redis, log, limits })
    return {
      handlers: providerHandlers(parts),
      onPing: async ({ measured }) => {
        await serving.measured(measured.map((record) => sluice.RouteMeasure.create(record)))
        return {}
      },
      gauges: [providerGauges(pool)],
      stop: () => serving.stop(),
    }
  },
}
