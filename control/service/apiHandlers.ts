import type { Logger } from 'pino'
import type { Redis } from '../../contract/wire/redis.ts'
import type { Debits } from '../admission/debits/debit.ts'
import { AccountApi } from '../api/accountApi.ts'
import { batchHandlers } from '../batch/batchHandlers.ts'
import { accountHandlers } from '../customers/accounts/accountHandlers.ts'
import { agentHandlers } from '../customers/agents/agentHandlers.ts'
import { approvalHandlers } from '../customers/agents/approvalHandlers.ts'
import { figureHandlers } from '../customers/figures/figureHandlers.ts'
import { keyCaller } from '../customers/keys/keyCaller.ts'
import { keyHandlers } from '../customers/keys/keyHandlers.ts'
import { linkHandlers } from '../customers/links/linkHandlers.ts'
import { lockHandlers } from '../customers/locks/lockHandlers.ts'
import { lockWithdrawalHandlers } from '../customers/locks/lockWithdrawalHandlers.ts'
import { platformHandlers } from '../customers/platform/platformHandlers.ts'
import { providerHandlers } from '../customers/providers/providerHandlers.ts'
import { logHandlers } from '../customers/receipts/logHandlers.ts'
import { receiptListHandler } from '../customers/receipts/receiptListHandler.ts'
import type { ReceiptReader } from '../customers/receipts/receiptReader.ts'
import { referralHandlers } from '../customers/referrals/referralHandlers.ts'
import { sessionCaller } from '../customers/sessions/sessionCaller.ts'
import { signInHandlers } from '../customers/sessions/signInHandlers.ts'
import { WalletProofs } from '../customers/sessions/walletProof.ts'
import { statementHandler } from '../customers/statements/statementHandler.ts'
import { walletHandlers } from '../customers/wallets/walletHandlers.ts'
import { accountOfWallet, listWallets } from '../customers/wallets/wallets.ts'
import type { Limits } from '../limits.ts'
import { ContractWallets } from '../onchain/chain/contractSignature.ts'
import { flowHandlers } from '../onchain/flows/flowHandlers.ts'
import { reserveHandlers } from '../onchain/reserve/reserveHandlers.ts'
import { rewardHandlers } from '../onchain/rewards/rewardHandlers.ts'
import type { RewardTerms } from '../onchain/rewards/rewardTerms.ts'
import { depositHandlers } from '../onchain/service/depositHandlers.ts'
import { payerCreditHandlers } from '../onchain/service/payerCreditHandlers.ts'
import type { PaymentsService } from '../onchain/service/paymentsService.ts'
import { excludedHolders } from '../onchain/service/startRevenue.ts'
import { withdrawalHandlers } from '../onchain/service/withdrawalHandlers.ts'
import { settlementHandlers } from '../onchain/settlements/settlementHandlers.ts'
import { vaultHandlers } from '../onchain/vault/vaultHandlers.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { catalogHandlers } from './catalogHandlers.ts'
import type { Environment } from './environment.ts'
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
