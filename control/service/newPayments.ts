import type { Logger } from 'pino'
import type { Redis } from '../../contract/wire/redis.ts'
import { coinUsdUnitsInForce } from '../catalog/pricing/coinAmounts.ts'
import type { PaymentsConfig } from '../chain/paymentsConfig.ts'
import { accountOfWallet, accountsOfWallets } from '../identity/wallets/wallets.ts'
import type { Limits } from '../limits.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { PaymentsService } from './paymentsService.ts'

/** Payments over the book, with their sources of wallets and prices. */
export function newPayments(
  config: PaymentsConfig,
  pool: Pool,
  redis: Redis,
  log: Logger,
  limits: Limits,
): PaymentsService {
  return new PaymentsService({
    config,
    pool,
    redis,
    log,
    accountOfWallet,
    accountsOfWallets,
    coinUsdUnits: async (client) => {
      const units = await coinUsdUnitsInForce(client)
      if (units === undefined) throw new Error('there is no price sheet yet, so the coin has no price')
      return units
    },
    limits,
  })
}
