import type { Logger } from 'pino'
import type { Limits } from '../limits.ts'
import type { Pool } from '../runtime/db/pool.ts'
import type { ChainClient } from './chainClient.ts'
import type { FeeOracle } from './fees.ts'
import type { PaymentsConfig } from './paymentsConfig.ts'
import type { TransactionWatcher } from './watcher.ts'

/** Parts that all senders of transactions share. */
export interface ChainParts {
  readonly chain: ChainClient
  readonly fees: FeeOracle
  readonly watcher: TransactionWatcher
}

/** What every product on the chain is started with. */
export interface ChainOptions {
  readonly config: PaymentsConfig
  readonly pool: Pool
  readonly log: Logger
  readonly limits: Limits
}
