import type { Product } from '../../api/product.ts'
import { reserveGauges } from './reserveGauges.ts'
import { reserveHandlers } from './reserveHandlers.ts'
import { ReserveService } from './reserveService.ts'
import { withdrawalState } from './withdrawalGate.ts'

/** Readings and attestations of the reserve, and the pause of withdrawals while it is short. */
export const RESERVE: Product = {
  name: 'reserve',
  make: ({ pool, log, environment, chain, limits }) => ({
    handlers: reserveHandlers(pool, limits),
    onPing: async () => ({ withdrawals: await withdrawalState(pool, chain, limits) }),
    gauges: [reserveGauges(pool, limits)],
    start: () => [new ReserveService({ ...environment, pool, log, limits })],
  }),
}
