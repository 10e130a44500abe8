import type { Logger } from 'pino'
import type { Redis } from '../../contract/wire/redis.ts'
import type { Debits } from '../admission/debits/debit.ts'
import { AccountApi } from '../api/accountApi.ts'
import { batchHandlers } from '../batch/batchHandlers.ts'
import { ContractWallets } from '../chain/contractSignature.ts'
import { accountHandlers } from '../identity/accounts/accountHandlers.ts'
import { keyCaller } from '../identity/keys/keyCaller.ts'
import { keyHandlers } from '../identity/keys/keyHandlers.ts'
import { platformHandlers } from '../identity/platform/platformHandlers.ts'
import { sessionCaller } from '../identity/sessions/sessionCaller.ts'
import { signInHandlers } from '../identity/sessions/signInHandlers.ts'
import { WalletProofs } from '../identity/sessions/walletProof.ts'
import { walletHandlers } from '../identity/wallets/walletHandlers.ts'
import { accountOfWallet, listWallets } from '../identity/wallets/wallets.ts'
import type { Limits } from '../limits.ts'
import { agentHandlers } from '../products/agents/agentHandlers.ts'
import { approvalHandlers } from '../products/agents/approvalHandlers.ts'
import { rewardHandlers } from '../products/holders/rewards/rewardHandlers.ts'
import type { RewardTerms } from '../products/holders/rewards/rewardTerms.ts'
import { excludedHolders } from '../products/holders/startRevenue.ts'
import { vaultHandlers } from '../products/holders/vault/vaultHandlers.ts'
import { lockHandlers } from '../products/locks/lockHandlers.ts'
import { lockWithdrawalHandlers } from '../products/locks/lockWithdrawalHandlers.ts'
import { providerHandlers } from '../products/marketplace/providers/providerHandlers.ts'
import { depositHandlers } from '../products/payments/depositHandlers.ts'
import { flowHandlers } from '../products/payments/flows/flowHandlers.ts'
import { payerCreditHandlers } from '../products/payments/payerCreditHandlers.ts'
import { withdrawalHandlers } from '../products/payments/withdrawalHandlers.ts'
import { reserveHandlers } from '../products/reserve/reserveHandlers.ts'
import { settlementHandlers } from '../products/settlements/settlementHandlers.ts'
import { linkHandlers } from '../products/transfers/links/linkHandlers.ts'
import { referralHandlers } from '../products/transfers/referrals/referralHandlers.ts'
import { logHandlers } from '../records/receipts/logHandlers.ts'
import { receiptListHandler } from '../records/receipts/receiptListHandler.ts'
import type { ReceiptReader } from '../records/receipts/receiptReader.ts'
import { statementHandler } from '../records/statements/statementHandler.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { figureHandlers } from '../statistics/figureHandlers.ts'
import { catalogHandlers } from './catalogHandlers.ts'
import type { Environment } from './environment.ts'
import type { PaymentsService } from './paymentsService.ts'
import { privacyHandlers } from './privacyHandlers.ts'

export interface ApiParts {
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  readonly receipts: ReceiptReader
  readonly debits: Debits
  readonly applyToAdmission: (accountIds: readonly string[]) => Promise<unknown>
  readonly environment: Pick<
    Environment,
    'publicUrl' | 'chainRpcUrl' | 'allowPrivateProviders' | 'logKey' | 'logWitnesses'
  >
  /** Undefined when the gateway takes no payments. */
  readonly payments: PaymentsService | undefined
  readonly limits: Limits
}

/** The account API: authentication of its callers, and a handler for each operation, from the folder of its resource. */
export function newAccountApi(parts: ApiParts): AccountApi {
  const { pool, redis, log, receipts, environment, payments, limits } = parts
  const { publicUrl, chainRpcUrl } = environment
  const contracts = chainRpcUrl === undefined ? undefined : new ContractWallets(chainRpcUrl, limits)
  const proofs = new WalletProofs({
    db: pool,
    publicUrl,
    contracts,
    chainId: chainIdOf(payments, contracts),
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
      ...linkHandlers(parts),
      ...lockHandlers(parts),
      ...lockWithdrawalHandlers(parts),
      ...agentHandlers(parts),
      ...platformHandlers(parts),
      ...batchHandlers(pool, limits),
      ...approvalHandlers(parts),
      ...referralHandlers(parts),
      ...providerHandlers(parts),
      ...depositHandlers({ pool, payments, accountOfWallet, limits }),
      ...payerCreditHandlers({ pool, payments }),
      ...withdrawalHandlers({ pool, debits: parts.debits, payments, accountOfWallet, limits }),
      ...flowHandlers(pool, limits),
      ...settlementHandlers(pool, limits),
      ...rewardHandlers({ db: pool, rewards: rewardTermsOf(payments), listWallets, limits }),
      ...vaultHandlers({ db: pool, payments, limits }),
      ...reserveHandlers(pool, limits),
      ...logHandlers(pool, environment.logWitnesses ?? [], limits),
      ...catalogHandlers(pool, limits),
      ...privacyHandlers(pool),
      ...figureHandlers(pool, { ...environment, payments: payments?.config }, limits),
      get_statement: statementHandler(pool, limits),
      list_receipts: receiptListHandler(receipts, limits),
    },
    callers: { key: (hash) => keyCaller(pool, hash), session: (hash) => sessionCaller(pool, hash) },
    limits,
  })
}

/** The terms under which holders are rewarded; undefined without a chain. */
function rewardTermsOf(payments: PaymentsService | undefined): RewardTerms | undefined {
  if (payments === undefined) return undefined
  const { config } = payments
  return { chainId: config.chainId, holders: config.holders, excluded: excludedHolders(config) }
}

/** The configured chain: as the operator has named it, else as its node does. */
function chainIdOf(
  payments: PaymentsService | undefined,
  contracts: ContractWallets | undefined,
): (() => Promise<number>) | undefined {
  if (payments !== undefined) return async () => payments.config.chainId
  return contracts && (() => contracts.chainId())
}
