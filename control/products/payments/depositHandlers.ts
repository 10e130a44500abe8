import { getAddress } from 'viem/utils'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { coinDecimal } from '../../../contract/money/coin.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import type { Address } from '../../../contract/payments/address.ts'
import { isId } from '../../../contract/wire/ids.ts'
import { type ApiCall, preparedWrite, type ReadHandler, type WriteHandler } from '../../api/call.ts'
import { listJson, pageOf } from '../../api/lists.ts'
import { lockAccount } from '../../book/ledger/accountRow.ts'
import { amountJson, coinAmountJson, coinPrice } from '../../catalog/pricing/coinAmounts.ts'
import { recordActivity } from '../../runtime/activity/activity.ts'
import type { Pool, Queryable } from '../../runtime/db/pool.ts'
import { readDeposit, refuseAuthorization } from './deposits/depositOrder.ts'
import {
  countSignedDeposits,
  type Deposit,
  type DepositState,
  depositOf,
  pageOfDeposits,
} from './deposits/depositRow.ts'
import type { CheckedDeposit } from './deposits/deposits.ts'
import { refuseBeyondDay, type SentByGateway } from './gasCover.ts'
import type { PaymentsLimits } from './limits.ts'
import type { Payments } from './payments.ts'

const SENT: SentByGateway = { prefix: 'dep', perDay: 'signedDepositsPerDay', countSince: countSignedDeposits }

type DepositOperation = 'get_funding' | 'list_deposits' | 'get_deposit' | 'create_deposit'

export interface DepositParts {
  readonly pool: Pool
  /** Undefined when the gateway takes no payments. */
  readonly payments: Payments | undefined
  /** The account that a wallet is linked to. */
  readonly accountOfWallet: (db: Queryable, address: Address) => Promise<string | undefined>
  readonly limits: PaymentsLimits
}

/** @throws GatewayError not_found when the gateway takes no payments */
export function paymentsOf({ payments }: Pick<DepositParts, 'payments'>): Payments {
  if (payments !== undefined) return payments
  throw new GatewayError('not_found', { message: 'This gateway has no chain for deposits and withdrawals.' })
}

/** The endpoints of deposits. */
export function depositHandlers(parts: DepositParts): Record<DepositOperation, ReadHandler | WriteHandler<unknown>> {
  const { pool } = parts
  return {
    get_funding: { read: async () => ({ json: fundingJson(paymentsOf(parts), await coinPrice(pool)) }) },
    list_deposits: {
      read: async (call) => {
        const { limit, after } = pageOf(call, parts.limits)
        const found = await pageOfDeposits(pool, call.accountId, limit + 1, after)
        const deposits = found.map(depositJson)
        return { json: listJson(deposits, limit) }
      },
    },
    get_deposit: {
      read: async (call) => {
        const id = call.params['id'] ?? ''
        const deposit = isId('dep', id) ? await depositOf(pool, call.accountId, id) : undefined
        if (deposit === undefined) throw new GatewayError('deposit_not_found')
        return { json: depositJson(deposit) }
      },
    },
    create_deposit: preparedWrite<CheckedDeposit | GatewayError>({
      // A refusal waits for `write`: sent again under its Idempotency-Key, a deposit is used and yet answered as at first.
      prepare: (call) =>
        checkDeposit(parts, call).catch((error: unknown) => {
          if (error instanceof GatewayError) return error
          throw error
        }),
      write: async ({ accountId, actor }, client, checked) => {
        if (checked instanceof GatewayError) throw checked
        const { deposits } = paymentsOf(parts)
        await requireLinked(parts, client, accountId, checked.order.payment.from)
        await lockAccount(client, accountId)
        await refuseBeyondDay(client, SENT, accountId, parts.limits)
        const { nanos, units, payment } = checked.order
        const details = { amount: formatUsd(units), coin: coinDecimal(nanos), wallet: payment.from }
        const { deposit, transaction } = await deposits.store(client, accountId, checked)
        await recordActivity(client, actor, [{ accountId, type: 'deposit.created', target: deposit.id, details }])
        return {
          status: 202,
          json: depositJson(deposit),
          afterCommit: () => deposits.send(transaction),
        }
      },
    }),
  }
}

async function checkDeposit(parts: DepositParts, { body, accountId }: ApiCall): Promise<CheckedDeposit> {
  const payments = paymentsOf(parts)
  const price = await coinPrice(parts.pool)
  const order = readDeposit(body, payments.terms, payments.config.depositMinUnits, price, parts.limits)
  await requireLinked(parts, parts.pool, accountId, order.payment.from)
  return payments.deposits.check(order)
}

/**
 * An authorization does not name an account, and third parties may have seen it in the mempool; it is credited only to
 * the account of its wallet.
 */
async function requireLinked(parts: DepositParts, db: Queryable, accountId: string, wallet: Address): Promise<void> {
  if ((await parts.accountOfWallet(db, wallet)) === accountId) return
  throw refuseAuthorization('Link this wallet to the account first.', 'authorization.from')
}

const STATUS: Readonly<Record<DepositState, string>> = { settling: 'pending', credited: 'credited', failed: 'failed' }

function depositJson(deposit: Deposit) {
  return {
    object: 'deposit' as const,
    id: deposit.id,
    status: STATUS[deposit.state],
    source: deposit.source,
    wallet: getAddress(deposit.wallet),
    asset: deposit.asset,
    token: getAddress(deposit.token),
    token_amount: deposit.amount.toString(),
    amount: coinAmountJson(deposit),
    transaction: deposit.hash,
    created_at: deposit.createdAt.toISOString(),
  }
}

function fundingJson(payments: Payments, coinUsdUnits: number) {
  const { chainId, payTo, assets } = payments.terms
  const { depositMinUnits, withdrawalMinUnits, gasFeeUnits, depositConfirmations } = payments.config
  return {
    object: 'funding' as const,
    network: `eip155:${chainId}`,
    chain_id: chainId,
    address: getAddress(payTo),
    deposit_confirmations: depositConfirmations,
    deposit_minimum: amountJson(depositMinUnits, coinUsdUnits),
    withdrawal_minimum: amountJson(withdrawalMinUnits, coinUsdUnits),
    withdrawal_fee: amountJson(gasFeeUnits, coinUsdUnits),
    assets: assets.map(({ id, address, decimals, name, version, method, usdUnits }) => ({
      id,
      address: getAddress(address),
      decimals,
      usd: formatUsd(usdUnits || coinUsdUnits),
      gasless: method === 'eip3009',
      eip712: { name, version, chainId, verifyingContract: getAddress(address) },
    })),
  }
}
