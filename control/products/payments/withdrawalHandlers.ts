import { getAddress } from 'viem/utils'
import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { coinDecimal, coinFor } from '../../../contract/money/coin.ts'
import { formatUsd, UNITS_PER_USD } from '../../../contract/money/units.ts'
import { type Address, parseAddress } from '../../../contract/payments/address.ts'
import { wholeAtomic } from '../../../contract/payments/conversion.ts'
import type { PaymentAsset } from '../../../contract/payments/terms.ts'
import { isId, newId } from '../../../contract/wire/ids.ts'
import type { Debits } from '../../admission/debits/debit.ts'
import type { ApiCall, ReadHandler, WriteHandler } from '../../api/call.ts'
import { listJson, pageOf } from '../../api/lists.ts'
import { ESCROW_COIN, REVENUE } from '../../book/ledger/accounts.ts'
import { refuseTooMany } from '../../book/ledger/refuseTooMany.ts'
import {
  type CoinAmount,
  coinAmount,
  coinAmountJson,
  coinPrice,
  readAnyCoin,
} from '../../catalog/pricing/coinAmounts.ts'
import { recordActivity } from '../../runtime/activity/activity.ts'
import type { Client } from '../../runtime/db/pool.ts'
import { requireReserve } from '../reserve/withdrawalGate.ts'
import { type DepositParts, paymentsOf } from './depositHandlers.ts'
import { GAS_FEE, gasFee, refuseBeyondDay, type SentByGateway } from './gasCover.ts'
import type { PaymentsLimits } from './limits.ts'
import {
  countOpenWithdrawals,
  countWithdrawals,
  insertWithdrawal,
  pageOfWithdrawals,
  type Withdrawal,
  type WithdrawalState,
  withdrawalOf,
} from './withdrawals/withdrawalRow.ts'
import { WITHDRAWAL } from './withdrawals/withdrawals.ts'

const SENT: SentByGateway = { prefix: 'wdr', perDay: 'withdrawalsPerDay', countSince: countWithdrawals }

type WithdrawalOperation = 'list_withdrawals' | 'get_withdrawal' | 'create_withdrawal'

export interface WithdrawalParts extends DepositParts {
  readonly debits: Debits
  readonly limits: PaymentsLimits
}

/** The endpoints of withdrawals. */
export function withdrawalHandlers(
  parts: WithdrawalParts,
): Record<WithdrawalOperation, ReadHandler | WriteHandler<unknown>> {
  const { pool, debits } = parts
  return {
    list_withdrawals: {
      read: async (call) => {
        const { limit, after } = pageOf(call, parts.limits)
        const found = await pageOfWithdrawals(pool, call.accountId, limit + 1, after)
        const withdrawals = found.map(withdrawalJson)
        return { json: listJson(withdrawals, limit) }
      },
    },
    get_withdrawal: {
      read: async (call) => {
        const id = call.params['id'] ?? ''
        const withdrawal = isId('wdr', id) ? await withdrawalOf(pool, call.accountId, id) : undefined
        if (withdrawal === undefined) throw new GatewayError('withdrawal_not_found')
        return { json: withdrawalJson(withdrawal) }
      },
    },
    create_withdrawal: {
      write: async (call, client, _prepared, transaction) => {
        const payments = paymentsOf(parts)
        const { withdrawer } = payments
        const { accountId } = call
        const asset = readAsset(call, payments.terms.assets)
        const price = await coinPrice(client)
        const { nanos, units, tokens } = readAmount(call, asset, price, payments.config.withdrawalMinUnits)
        const wallet = await readWallet(call, client, parts)
        const max = parts.limits.withdrawalsOpenMax
        await refuseTooMany(client, accountId, countOpenWithdrawals, max, () => tooManyUnderWay(max))
        await requireReserve(client, parts.limits)
        await refuseBeyondDay(client, SENT, accountId, parts.limits)
        const id = newId('wdr')
        const to = { ledgerAccount: ESCROW_COIN } as const
        await debits.move(transaction, { id, accountId, nanos, units, kind: WITHDRAWAL, to })
        const fee = gasFee(accountId, payments.config.gasFeeUnits, price)
        if (fee !== undefined) await debits.move(transaction, { ...fee, kind: GAS_FEE, to: { ledgerAccount: REVENUE } })
        const { id: assetId, address: token } = asset
        const row = { id, accountId, wallet, asset: assetId, token, amount: tokens, nanos, units }
        const stored = await insertWithdrawal(client, row)
        const details = { amount: formatUsd(units), coin: coinDecimal(nanos), wallet }
        await recordActivity(client, call.actor, [{ accountId, type: 'withdrawal.created', target: id, details }])
        return {
          status: 202,
          json: withdrawalJson(stored),
          afterCommit: async () => withdrawer.wake(),
        }
      },
    },
  }
}

function readAsset({ body }: ApiCall, assets: readonly PaymentAsset[]): PaymentAsset {
  const wanted = body['asset'] ?? (assets.some(({ id }) => id === 'coin') ? 'coin' : 'stablecoin')
  const asset = assets.find(({ id }) => id === wanted)
  if (asset !== undefined) return asset
  throw invalidRequest(`asset must be ${assets.map(({ id }) => id).join(' or ')}; this gateway has no other.`, 'asset')
}

/** Tokens rounded down to their smallest unit, and the coin that they take: nothing is kept of the rest. */
function readAmount(
  { body }: ApiCall,
  asset: PaymentAsset,
  coinUsdUnits: number,
  minUnits: number,
): CoinAmount & { tokens: bigint } {
  const asked = readAnyCoin(body['amount'], coinUsdUnits)
  const sent = asset.usdUnits === 0 ? coinTokens(asked, asset, coinUsdUnits) : usdTokens(asked, asset, coinUsdUnits)
  if (sent.tokens > 0n && sent.units > 0 && sent.units >= minUnits) return sent
  const message = `A withdrawal is at least ${coinDecimal(coinFor(minUnits, coinUsdUnits))} coin, now ${formatUsd(minUnits)} USD.`
  // Whether it is enough depends on the present price of the coin, and on the operator's fee for the gas.
  throw new GatewayError('below_minimum', { message, param: 'amount', status: 409 })
}

/** Tokens of the coin itself, independent of its price. */
function coinTokens({ nanos }: CoinAmount, { decimals }: PaymentAsset, coinUsdUnits: number) {
  const whole = wholeAtomic(nanos, decimals, UNITS_PER_USD)
  return { ...coinAmount(whole.units, coinUsdUnits), tokens: whole.amount }
}

/** Tokens of a stablecoin, for the present worth of the coin. */
function usdTokens({ units }: CoinAmount, { decimals, usdUnits }: PaymentAsset, coinUsdUnits: number) {
  const whole = wholeAtomic(units, decimals, usdUnits)
  return { nanos: coinFor(whole.units, coinUsdUnits), units: whole.units, tokens: whole.amount }
}

/** The wallet that tokens go to: the one that is named, else the one that is signed in. @throws GatewayError invalid_address; wallet_not_found for a wallet that is not linked to the account */
export async function readWallet(
  { body, caller, accountId }: ApiCall,
  client: Client,
  parts: Pick<WithdrawalParts, 'accountOfWallet'>,
): Promise<Address> {
  const named = body['address'] ?? (caller.kind === 'session' ? caller.address : '')
  const wallet: Address | undefined = parseAddress(named)
  if (wallet === undefined) throw new GatewayError('invalid_address', { param: 'address' })
  if ((await parts.accountOfWallet(client, wallet)) === accountId) return wallet
  throw new GatewayError('wallet_not_found', { param: 'address' })
}

/** The refusal of another withdrawal, of coin or of tokens, while too many are not sent. */
export function tooManyUnderWay(max: number): GatewayError {
  return new GatewayError('rate_limited', {
    message: `An account has at most ${max} withdrawals under way; wait for one to be sent.`,
    retryAfterSeconds: 5,
  })
}

const STATUS: Readonly<Record<WithdrawalState, string>> = { sending: 'pending', sent: 'sent', returned: 'returned' }

function withdrawalJson(withdrawal: Withdrawal) {
  return {
    object: 'withdrawal' as const,
    id: withdrawal.id,
    status: STATUS[withdrawal.state],
    wallet: getAddress(withdrawal.wallet),
    asset: withdrawal.asset,
    token: getAddress(withdrawal.token),
    token_amount: withdrawal.amount.toString(),
    amount: coinAmountJson(withdrawal),
    transaction: withdrawal.hash,
    created_at: withdrawal.createdAt.toISOString(),
  }
}
