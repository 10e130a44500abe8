import type { Logger } from 'pino'
import type { Redis } from '../../contract/wire/redis.ts'
import { AccountApi } from '../api/accountApi.ts'
import type { ApiHandlers } from '../api/call.ts'
import type { RunningProduct } from '../api/product.ts'
import { batchHandlers } from '../batch/batchHandlers.ts'
import type { ChainService } from '../chain/chainService.ts'
import { ContractWallets } from '../chain/contractSignature.ts'
import { accountHandlers } from '../identity/accounts/accountHandlers.ts'
import { keyCaller } from '../identity/keys/keyCaller.ts'
import { keyHandlers } from '../identity/keys/keyHandlers.ts'
import { platformHandlers } from '../identity/platform/platformHandlers.ts'
import { sessionCaller } from '../identity/sessions/sessionCaller.ts'
import { signInHandlers } from '../identity/sessions/signInHandlers.ts'
import { WalletProofs } from '../identity/sessions/walletProof.ts'
import { walletHandlers } from '../identity/wallets/walletHandlers.ts'
import type { Limits } from '../limits.ts'
import { Explainer } from '../records/explain/explainer.ts'
import { explainHandler } from '../records/explain/explainHandler.ts'
import { logHandlers } from '../records/receipts/logHandlers.ts'
import { receiptListHandler } from '../records/receipts/receiptListHandler.ts'
import type { ReceiptReader } from '../records/receipts/receiptReader.ts'
import { statementHandler } from '../records/statements/statementHandler.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { joined } from '../runtime/joined.ts'
import { figureHandlers } from '../statistics/figureHandlers.ts'
import { catalogHandlers } from './catalogHandlers.ts'
import type { Environment } from './environment.ts'
import { privacyHandlers } from './privacyHandlers.ts'

export interface ApiParts {
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  readonly receipts: ReceiptReader
  readonly products: readonly RunningProduct[]
  readonly environment: Pick<Environment, 'publicUrl' | 'chainRpcUrl' | 'logKey' | 'logWitnesses'>
  /** Undefined when the gateway has no chain. */
  readonly chain: ChainService | undefined
  readonly limits: Limits
}

/** The account API: authentication of its callers, and a handler for each operation, from the folder of its resource. */
export function newAccountApi(parts: ApiParts): AccountApi {
  const { pool, redis, log, receipts, environment, chain, products, limits } = parts
  const { publicUrl, chainRpcUrl } = environment
  const contracts = chainRpcUrl === undefined ? undefined : new ContractWallets(chainRpcUrl, limits)
  const proofs = new WalletProofs({
    db: pool,
    publicUrl,
    contracts,
    chainId: chainIdOf(chain, contracts),
    limits,
  })
  return new AccountApi({
    pool,
    log,
    handlers: {
      ...signInHandlers(proofs, publicUrl, limits),
      ...walletHandlers(pool, proofs, limits),
      ...accountHandlers(pool, redis, limits),
      ...keyHandlers(pool, redis, limits),
      ...platformHandlers(parts),
      ...batchHandlers(pool, limits),
      ...logHandlers(pool, environment.logWitnesses ?? [], limits),
      ...catalogHandlers(pool, limits),
      ...privacyHandlers(pool),
      ...figureHandlers(pool, { ...environment, payments: chain?.config }, limits),
      get_statement: statementHandler(pool, 'csv', limits),
      get_statement_json: statementHandler(pool, 'json', limits),
      explain_request: explainHandler(new Explainer(pool, redis, receipts, limits)),
      list_receipts: receiptListHandler(receipts, limits),
      ...joined<ApiHandlers>(products.map(({ handlers }) => handlers)),
    },
    callers: { key: (hash) => keyCaller(pool, hash), session: (hash) => sessionCaller(pool, hash) },
    limits,
  })
}

/** The configured chain: as the operator has named it, else as its node does. */
function chainIdOf(
  chain: ChainService | undefined,
  contracts: ContractWallets | undefined,
): (() => Promise<number>) | undefined {
  if (chain !== undefined) return async () => chain.config.chainId
  return contracts && (() => contracts.chainId())
}
