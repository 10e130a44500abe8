import type { Logger } from 'pino'
import type { Redis } from '../../contract/wire/redis.ts'
import type { Product } from '../api/product.ts'
import { coinUsdUnitsInForce } from '../catalog/pricing/coinAmounts.ts'
import { ChainService } from '../chain/chainService.ts'
import type { PaymentsConfig } from '../chain/paymentsConfig.ts'
import { accountOfWallet, accountsOfWallets } from '../identity/wallets/wallets.ts'
import type { Limits } from '../limits.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { outcomesOf } from './products.ts'

/** Begins the products' work on the chain, over the book, with its sources of wallets and prices. */
export function startChain(
  products: readonly Product[],
  parts: {
    readonly config: PaymentsConfig
    readonly pool: Pool
    readonly redis: Redis
    readonly log: Logger
    readonly limits: Limits
  },
): ChainService {
  return new ChainService({
    ...parts,
    accountOfWallet,
    accountsOfWallets,
    coinUsdUnits: async (client) => {
      const units = await coinUsdUnitsInForce(client)
      if (units === undefined) throw new Error('there is no price sheet yet, so the coin has no price')
      return units
    },
    starts: products.flatMap(({ onChain }) => onChain ?? []),
    handlers: outcomesOf(products),
  })
}
