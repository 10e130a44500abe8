import type { Logger } from 'pino'
import type { Address } from '../../contract/payments/address.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import type { Limits } from '../limits.ts'
import type { Client, Pool, Queryable } from '../runtime/db/pool.ts'
import type { ChainClient } from './chainClient.ts'
import type { FeeOracle } from './fees.ts'
import type { PaymentsConfig } from './paymentsConfig.ts'
import type { TransactionWatcher } from './watcher.ts'

/** Parts that all senders of transactions share. */
export interface ChainParts {
  readonly chain: ChainClient
  readonly fees: FeeOracle
  readonly watcher: TransactionWatcher
  /** The key of the MACs of quotes, which the book keeps. */
  readonly quoteSecret: Buffer
}

/** The parts that every product on the chain is started with. */
export interface ChainOptions {
  readonly config: PaymentsConfig
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  /** The account that a wallet is linked to. */
  readonly accountOfWallet: (db: Queryable, address: Address) => Promise<string | undefined>
  /** The accounts that wallets are linked to, by address. */
  readonly accountsOfWallets: (db: Queryable, addresses: readonly Address[]) => Promise<ReadonlyMap<Address, string>>
  /** The price of a coin in units of USD. @throws Error before the first price sheet */
  readonly coinUsdUnits: (client: Client) => Promise<number>
  readonly limits: Limits
}

/** A product's work on the chain, under way. */
export interface OnChain {
  /** Finishes what is under way within `timeoutMs`; the next start takes up the rest. */
  stop(timeoutMs: number): Promise<unknown>
}

/**
 * Begins the work of a product on the chain, once the chain is known to be the one of the book.
 * @returns undefined where the operator has named none of the product's contracts
 */
export type OnChainStart<Running extends OnChain> = (options: ChainOptions, parts: ChainParts) => Running | undefined
