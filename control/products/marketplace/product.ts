import { sluice } from '../../../contract/wire/generated/messages.js'
import type { Product } from '../../api/product.ts'
import { Loop } from '../../runtime/loop.ts'
import { callHttp } from '../../runtime/net/httpCall.ts'
import { providerHandlers } from './providers/providerHandlers.ts'
import { payProviders } from './serving/payProviders.ts'
import { prober } from './serving/prober.ts'
import { providerGauges } from './serving/providerGauges.ts'
import { ServingKeeper } from './serving/servingKeeper.ts'

/** Endpoints that customers register, and the requests that they serve. */
export const MARKETPLACE: Product = {
  name: 'marketplace',
  make: (parts) => {
    const { pool, redis, log, environment, limits } = parts
    const keeper = new ServingKeeper({ ...environment, pool, redis, log, limits })
    const probeParts = { pool, log, limits, call: callHttp, allowPrivate: environment.allowPrivateProviders }
    const loops = [
      prober({ ...probeParts, environment: process.env }),
      new Loop('shares of providers', limits.providerPayMs, log, () => payProviders(pool, limits)),
    ]
    return {
      handlers: providerHandlers(parts),
      onPing: async ({ measured }) => {
        await keeper.measured(measured.map((record) => sluice.RouteMeasure.create(record)))
        return {}
      },
      gauges: [providerGauges(pool)],
      stop: () => Promise.all([keeper, ...loops].map((part) => part.stop())),
    }
  },
}
