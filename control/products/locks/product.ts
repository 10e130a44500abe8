import type { Product } from '../../api/product.ts'
import { lockHandlers } from './lockHandlers.ts'
import { LOCK_TOKENS, lockWithdrawalHandlers } from './lockWithdrawalHandlers.ts'
import { SeriesKeeper } from './seriesKeeper.ts'
import { lockMintOutcome } from './tokens/lockMinter.ts'

/** Compute locks: series, their order book, and their tokens on the chain. */
export const LOCKS: Product = {
  name: 'locks',
  outcomes: { lock_mint: lockMintOutcome },
  onChain: LOCK_TOKENS,
  make: (parts) => ({
    handlers: { ...lockHandlers(parts), ...lockWithdrawalHandlers(parts) },
    start: () => [new SeriesKeeper(parts)],
  }),
}
