import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { GatewayError } from '../../contract/errors/errors.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import type { Debits } from '../admission/debits/debit.ts'
import { ApiRouter } from '../api/apiRouter.ts'
import type { Caller } from '../api/call.ts'
import { batchHandlers } from '../batch/batchHandlers.ts'
import type { SpendingCaps } from '../book/ledger/spendingCaps.ts'
import { accountHandlers } from '../customers/accounts/accountHandlers.ts'
import { agentHandlers } from '../customers/agents/agentHandlers.ts'
import { approvalHandlers } from '../customers/agents/approvalHandlers.ts'
import { keyHandlers } from '../customers/keys/keyHandlers.ts'
import type { ApiKey } from '../customers/keys/keyRow.ts'
import { type KeyInForce, keyInForce } from '../customers/keys/resolveKey.ts'
import { linkHandlers } from '../customers/links/linkHandlers.ts'
import { platformHandlers } from '../customers/platform/platformHandlers.ts'
import { providerHandlers } from '../customers/providers/providerHandlers.ts'
import { receiptListHandler } from '../customers/receipts/receiptListHandler.ts'
import type { ReceiptReader } from '../customers/receipts/receiptReader.ts'
import { referralHandlers } from '../customers/referrals/referralHandlers.ts'
import { sessionOf } from '../customers/sessions/sessions.ts'
import { signInHandlers } from '../customers/sessions/signInHandlers.ts'
import { WalletProofs } from '../customers/sessions/walletProof.ts'
import { statementHandler } from '../customers/statements/statementHandler.ts'
import { walletHandlers } from '../customers/wallets/walletHandlers.ts'
import { accountOfWallet } from '../customers/wallets/wallets.ts'
import type { Limits } from '../limits.ts'
import { ContractWallets } from '../onchain/chain/contractSignature.ts'
import { depositHandlers } from '../onchain/service/depositHandlers.ts'
import { payerCreditHandlers } from '../onchain/service/payerCreditHandlers.ts'
import type { PaymentsService } from '../onchain/service/paymentsService.ts'
import { withdrawalHandlers } from '../onchain/service/withdrawalHandlers.ts'
import type { Pool } from '../runtime/db/pool.ts'
import type { Environment } from './environment.ts'

export interface ApiParts {
  readonly pool: Pool
  readonly redis: Redis
  readonly log: Logger
  readonly receipts: ReceiptReader
  readonly debits: Debits
  readonly tellAdmission: (accountIds: readonly string[]) => Promise<unknown>
  readonly environment: Pick<Environment, 'publicUrl' | 'chainRpcUrl' | 'allowPrivateProviders'>
  /** Undefined when the gateway takes no payments. */
  readonly payments: PaymentsService | undefined
  readonly limits: Limits
}

/** The account API with a handler for each of its operations, each from the folder of its resource. */
export function newApiRouter(parts: ApiParts): ApiRouter {
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
  return new ApiRouter({
    pool,
    log,
    handlers: {
      ...signInHandlers(proofs, publicUrl, limits),
      ...walletHandlers(pool, proofs, limits),
      ...accountHandlers(pool, redis, limits),
      ...keyHandlers(pool, redis, limits),
      ...linkHandlers(parts),
      ...agentHandlers(parts),
      ...platformHandlers(parts),
      ...batchHandlers(pool, limits),
      ...approvalHandlers(parts),
      ...referralHandlers(parts),
      ...providerHandlers(parts),
      ...depositHandlers({ pool, payments, accountOfWallet, limits }),
      ...payerCreditHandlers({ pool, payments }),
      ...withdrawalHandlers({ pool, debits: parts.debits, payments, accountOfWallet, limits }),
      get_statement: statementHandler(pool, limits),
      list_receipts: receiptListHandler(receipts, limits),
    },
    callerOf: (kind, hash) => callerOf(pool, kind, hash),
    limits,
  })
}

/** The configured chain: as the operator has named it, else as its node does. */
function chainIdOf(
  payments: PaymentsService | undefined,
  contracts: ContractWallets | undefined,
): (() => Promise<number>) | undefined {
  if (payments !== undefined) return async () => payments.config.chainId
  return contracts && (() => contracts.chainId())
}

function capsOf({ capHourUnits, capDayUnits, capMonthUnits, budgetUnits }: ApiKey): SpendingCaps {
  return { hourUnits: capHourUnits, dayUnits: capDayUnits, monthUnits: capMonthUnits, budgetUnits }
}

/** Whether a key may do less than its account may. */
function isRestricted(key: KeyInForce): boolean {
  const isCapped = Object.values(capsOf(key)).some((cap) => cap !== null) || key.requestsPerMinute > 0
  const isListed = key.models.length > 0 || key.tools.length > 0
  const isPrivate = key.noLogs || key.privateTier || key.allowRetention === false
  return isCapped || isListed || isPrivate || !key.canTransfer || key.platformKeyId !== null || key.expiresAtMs !== null
}

function keyCaller(key: KeyInForce): Caller {
  return {
    kind: 'key',
    keyId: key.id,
    accountId: key.accountId,
    caps: capsOf(key),
    ...(key.platform && { platform: { keyId: key.platform.id, caps: capsOf(key.platform) } }),
    isRestricted: isRestricted(key),
    canTransfer: key.canTransfer,
    isSubKey: key.platformKeyId !== null,
  }
}

/** @throws GatewayError key_paused */
async function callerOf(pool: Pool, kind: sluice.CredentialKind, hash: string): Promise<Caller | undefined> {
  if (kind === sluice.CredentialKind.CREDENTIAL_SESSION) {
    const session = await sessionOf(pool, hash)
    if (session === undefined) return undefined
    return { kind: 'session', sessionId: session.id, address: session.address, accountId: session.accountId }
  }
  const key = await keyInForce(pool, hash)
  if (key?.paused) throw new GatewayError('key_paused')
  return key && keyCaller(key)
}
