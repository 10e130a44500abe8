import type { Product } from '../../api/product.ts'
import { settlementOutcome } from './anchorKeeper.ts'
import { settlementGauges } from './settlementGauges.ts'
import { settlementHandlers } from './settlementHandlers.ts'
import { startAnchors } from './startAnchors.ts'

/** Settlement batches, whose sums are anchored on the chain. */
export const SETTLEMENTS: Product = {
  name: 'settlements',
  outcomes: { settlement: settlementOutcome },
  onChain: { start: startAnchors },
  make: ({ pool, chain, limits }) => ({
    handlers: settlementHandlers(pool, limits),
    gauges: chain && [settlementGauges(pool)],
  }),
}
