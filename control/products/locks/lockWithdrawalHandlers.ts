import { getAddress } from 'viem/utils'
import { HOUR_MS } from '../../../contract/api/time.ts'
import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { formatTokens, parseTokens } from '../../../contract/money/lockTokens.ts'
import { isId, newId } from '../../../contract/wire/ids.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { bookTaking, type Debits, type Taking } from '../../admission/debits/debit.ts'
import type { ApiCall, ReadHandler, WriteHandler } from '../../api/call.ts'
import { listJson, pageOf } from '../../api/lists.ts'
import { coinAccount, holdingAccount, REVENUE } from '../../book/ledger/accounts.ts'
import { lockAccounts } from '../../book/ledger/appendAdmissionEvent.ts'
import { postTransfers, type Transfer } from '../../book/ledger/postTransfers.ts'
import { refuseTooMany } from '../../book/ledger/refuseTooMany.ts'
import { coinPrice } from '../../catalog/pricing/coinAmounts.ts'
import type { ChainService } from '../../chain/chainService.ts'
import { accountOfWallet } from '../../identity/wallets/wallets.ts'
import { recordActivity } from '../../runtime/activity/activity.ts'
import { announceKeyChanges } from '../../runtime/bus/announceKeyChanges.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import type { UndoableTransaction } from '../../runtime/db/undoable.ts'
import { GAS_FEE, gasFee, refuseBeyondDay, type SentByGateway } from '../payments/gasCover.ts'
import { readWallet, tooManyUnderWay } from '../payments/withdrawalHandlers.ts'
import type { LocksLimits } from './limits.ts'
import { type LockSeries, lockTradedSeries, refuseMoreThanSupply } from './series.ts'
import { numberOfId } from './tokens/lockTokensContract.ts'
import {
  countLockWithdrawals,
  countOpenLockWithdrawals,
  insertLockWithdrawal,
  type LockWithdrawal,
  type LockWithdrawalState,
  lockWithdrawalOf,
  pageOfLockWithdrawals,
} from './tokens/lockWithdrawalRow.ts'
import { LOCK_WITHDRAWAL, openOnchainAccount } from './tokens/onchainTokens.ts'
import { startLockTokens } from './tokens/startLockTokens.ts'
import { unitsOfTokens } from './tradeAmounts.ts'
import { refuseSubKey, requireTrader } from './traders.ts'

const SENT: SentByGateway = { prefix: 'lwd', perDay: 'lockWithdrawalsPerDay', countSince: countLockWithdrawals }

type LockWithdrawalOperation = 'list_lock_withdrawals' | 'get_lock_withdrawal' | 'create_lock_withdrawal'

export interface LockWithdrawalParts {
  readonly pool: Pool
  readonly redis: Redis
  readonly debits: Debits
  /** Applies the booked changes of these accounts to admission. */
  readonly applyToAdmission: (accountIds: readonly string[]) => Promise<unknown>
  /** Undefined when the gateway has no chain. */
  readonly chain: ChainService | undefined
  readonly limits: LocksLimits
}

/** The endpoints of holdings that leave to a wallet. */
export function lockWithdrawalHandlers(
  parts: LockWithdrawalParts,
): Record<LockWithdrawalOperation, ReadHandler | WriteHandler<unknown>> {
  const { pool, redis, limits } = parts
  return {
    list_lock_withdrawals: {
      read: async (call) => {
        refuseSubKey(call)
        const { limit, after } = pageOf(call, limits)
        const found = await pageOfLockWithdrawals(pool, call.accountId, limit + 1, after)
        return { json: listJson(found.map(lockWithdrawalJson), limit) }
      },
    },
    get_lock_withdrawal: {
      read: async (call) => {
        refuseSubKey(call)
        const id = call.params['id'] ?? ''
        const withdrawal = isId('lwd', id) ? await lockWithdrawalOf(pool, call.accountId, id) : undefined
        if (withdrawal === undefined) {
          const message = 'The account has no withdrawal with this id; see /v1/locks/withdrawals.'
          throw new GatewayError('withdrawal_not_found', { message })
        }
        return { json: lockWithdrawalJson(withdrawal) }
      },
    },
    create_lock_withdrawal: {
      authorize: async (call) => requireTrader(call),
      write: async (call, client, _prepared, transaction) => {
        requireTrader(call)
        const { contract, minter, gasFeeUnits } = lockTokensOf(parts)
        const wallet = await readWallet(call, client, { accountOfWallet })
        const series = await lockTradedSeries(client, String(call.body['series']))
        refuseLate(series, limits)
        const max = limits.withdrawalsOpenMax
        await refuseTooMany(client, call.accountId, countOpenLockWithdrawals, max, () => tooManyUnderWay(max))
        await refuseBeyondDay(client, SENT, call.accountId, limits)
        const micros = readTokens(call, limits)
        const fee = gasFee(call.accountId, gasFeeUnits, await coinPrice(client))
        const stored = await withdraw(transaction, parts.debits, call, series, { wallet, contract, micros, fee })
        return {
          status: 202,
          json: lockWithdrawalJson(stored),
          afterCommit: async () => {
            minter.wake()
            await parts.applyToAdmission([call.accountId])
            await announceKeyChanges(pool, redis, limits)
          },
        }
      },
    },
  }
}

/**
 * Takes the tokens off the holding, and the fee off the account, in Redis first, and books them onto the chain.
 * @param series locked in this transaction
 */
async function withdraw(
  transaction: UndoableTransaction,
  debits: Debits,
  { accountId, actor }: ApiCall,
  series: LockSeries,
  { fee, ...to }: Pick<LockWithdrawal, 'wallet' | 'contract' | 'micros'> & { readonly fee: Taking | undefined },
): Promise<LockWithdrawal> {
  const { client } = transaction
  const [id, seriesId] = [newId('lwd'), series.id]
  refuseMoreThanSupply(series, to.micros)
  const units = unitsOfTokens(to.micros, series.lockedPriceUnits)
  const taking = { id, accountId, nanos: 0, units, series }
  const takenAtMs = await debits.take(transaction, taking)
  const feeTakenAtMs = fee === undefined ? 0 : await debits.take(transaction, fee)
  await lockAccounts(client, [accountId])
  const stored = await insertLockWithdrawal(client, { id, seriesId, accountId, units, ...to })
  const [debit, credit] = [holdingAccount(seriesId, accountId), await openOnchainAccount(client, seriesId)]
  const transfers = [{ kind: LOCK_WITHDRAWAL, ref: id, debit, credit, units }, ...feeTransfers(fee)]
  if ((await postTransfers(client, transfers)) !== transfers.length) {
    throw new Error(`withdrawal ${id} was booked before`)
  }
  await bookTaking(client, taking, takenAtMs)
  if (fee !== undefined) await bookTaking(client, fee, feeTakenAtMs)
  const details = { series: seriesId, tokens: formatTokens(to.micros), wallet: to.wallet }
  await recordActivity(client, actor, [{ accountId, type: 'lock.withdrawal_created', target: id, details }])
  return stored
}

function feeTransfers(fee: Taking | undefined): Transfer[] {
  if (fee === undefined) return []
  const { id: ref, accountId, units, nanos: coinNanos } = fee
  return [{ kind: GAS_FEE, ref, debit: coinAccount(accountId), credit: REVENUE, units, coinNanos }]
}

/** @throws GatewayError not_found where no contract is set; chain_unavailable, funds_lease */
function lockTokensOf({ chain }: LockWithdrawalParts) {
  const lockTokens = chain?.config.lockTokens == null ? undefined : chain.sending(startLockTokens)
  if (chain !== undefined && lockTokens !== undefined) return { ...lockTokens, gasFeeUnits: chain.config.gasFeeUnits }
  throw new GatewayError('not_found', { message: 'This gateway has no contract for tokens of compute locks.' })
}

/** @throws GatewayError lock_series_ended shortly before the end, when a mint may come too late */
function refuseLate({ endsAtMs }: LockSeries, { lockWithdrawalCutoffMs: cutoffMs }: LocksLimits): void {
  if (Date.now() < endsAtMs - cutoffMs) return
  const message = `Tokens are withdrawn until ${cutoffMs / HOUR_MS} hours before the end of their series.`
  throw new GatewayError('lock_series_ended', { message, param: 'series' })
}

function readTokens({ body }: ApiCall, { lockWithdrawalMicrosMin: min }: LocksLimits): number {
  const micros = parseTokens(String(body['tokens']))
  if (micros === undefined || micros === 0) {
    throw invalidRequest('tokens must have at most six digits after the point and be above zero.', 'tokens')
  }
  if (micros >= min) return micros
  const message = `A withdrawal is at least ${formatTokens(min)} tokens.`
  throw new GatewayError('below_minimum', { message, param: 'tokens', status: 409 })
}

const STATUS: Readonly<Record<LockWithdrawalState, string>> = {
  sending: 'pending',
  sent: 'sent',
  returned: 'returned',
  expired: 'expired',
}

function lockWithdrawalJson(withdrawal: LockWithdrawal) {
  return {
    object: 'lock_withdrawal' as const,
    id: withdrawal.id,
    status: STATUS[withdrawal.state],
    series: withdrawal.seriesId,
    tokens: formatTokens(withdrawal.micros),
    wallet: getAddress(withdrawal.wallet),
    contract: getAddress(withdrawal.contract),
    token_id: numberOfId(withdrawal.seriesId).toString(),
    token_amount: String(withdrawal.micros),
    transaction: withdrawal.hash,
    created_at: withdrawal.createdAt.toISOString(),
  }
}
