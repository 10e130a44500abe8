import type { Product } from '../../api/product.ts'
import { lockHandlers } from './lockHandlers.ts'
import { lockWithdrawalHandlers } from './lockWithdrawalHandlers.ts'
import { seriesKeeper } from './seriesKeeper.ts'
import { lockMintOutcome } from './tokens/lockMinter.ts'
import { startLockTokens } from './tokens/startLockTokens.ts'

/** Compute locks: series, their order book, and their tokens on the chain. */
export const LOCKS: Product = {
  name: 'locks',
  outcomes: { lock_mint: lockMintOutcome },
  onChain: startLockTokens,
  make: (parts) => ({
    handlers: { ...lockHandlers(parts), ...lockWithdrawalHandlers(parts) },
    start: () => [seriesKeeper(parts)],
  }),
}
