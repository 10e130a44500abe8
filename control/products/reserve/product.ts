import type { Product } from '../../api/product.ts'
import { attestationKeeper } from './attestationKeeper.ts'
import { reserveChain } from './reserveChain.ts'
import { reserveGauges } from './reserveGauges.ts'
import { reserveHandlers } from './reserveHandlers.ts'
import { reserveKeeper } from './reserveKeeper.ts'
import { withdrawalState } from './withdrawalGate.ts'

/** Readings and attestations of the reserve, and the pause of withdrawals while it is short. */
export const RESERVE: Product = {
  name: 'reserve',
  make: ({ pool, log, environment, chain, limits }) => ({
    handlers: reserveHandlers(pool, limits),
    onPing: async () => ({ withdrawals: await withdrawalState(pool, chain, limits) }),
    gauges: [reserveGauges(pool, limits)],
    start: () => {
      const { payments, catalogKey: key, attestationSeconds: intervalSeconds } = environment
      const parts = { pool, log, limits, chain: payments && reserveChain(payments, limits) }
      const readings = reserveKeeper(parts)
      // Without a key that signs them, no attestations are made.
      return key === undefined ? [readings] : [readings, attestationKeeper({ ...parts, key, intervalSeconds })]
    },
  }),
}
