import { GatewayError } from '../../../contract/errors/errors.ts'
import { coinDecimal, valueOfCoin } from '../../../contract/money/coin.ts'
import { formatTokens } from '../../../contract/money/lockTokens.ts'
import {
  ESCROW_LOCKS,
  holdingAccount,
  LOCK_OPERATOR,
  lockEscrowAccount,
  lockIssuedAccount,
} from '../../book/ledger/accounts.ts'
import { type AdmissionChange, appendAdmissionEvent, lockAccounts } from '../../book/ledger/appendAdmissionEvent.ts'
import { postTransfers, type Transfer } from '../../book/ledger/postTransfers.ts'
import { type Actor, recordActivity } from '../../runtime/activity/activity.ts'
import type { Client } from '../../runtime/db/pool.ts'
import { endOrder, type LockOrder, orderById } from './orderStore.ts'
import { type LockSeries, lockOpenSeries } from './series.ts'
import { unitsOfTokens } from './tradeAmounts.ts'
import { coinChange, coinSide, tokenChange } from './tradePostings.ts'

/**
 * Takes an open order out of the book; what it has in escrow comes back.
 * @throws GatewayError lock_order_not_found; permission_denied for someone else's; lock_order_ended; as lockOpenSeries
 */
export async function cancelOrder(
  client: Client,
  actor: Actor,
  id: string,
  accountId: string,
  coinUsdUnits: number,
): Promise<LockOrder> {
  const found = await orderById(client, id)
  if (found === undefined) throw new GatewayError('lock_order_not_found')
  if (found.accountId !== accountId) throw new GatewayError('permission_denied')
  const series = await lockOpenSeries(client, found.seriesId)
  const order = await orderById(client, id)
  if (order?.status !== 'open') {
    throw new GatewayError('lock_order_ended', { message: `This order is ${order?.status ?? 'ended'}.` })
  }
  return giveBack(client, actor, series, order, 'cancelled', coinUsdUnits)
}

/**
 * Ends an open order: coin in escrow goes back to its account, tokens go back when it is cancelled and burn when it expires
 * with its series.
 * @param series locked in this transaction
 */
export async function giveBack(
  client: Client,
  actor: Actor,
  series: LockSeries,
  order: LockOrder,
  status: 'cancelled' | 'expired',
  coinUsdUnits: number,
): Promise<LockOrder> {
  const { accountId } = order
  const isOperator = accountId === LOCK_OPERATOR
  await lockAccounts(client, isOperator ? [] : [accountId])
  const ended = await endOrder(client, order.id, status)
  const { transfer, changes } = returnOf(series, order, status, coinUsdUnits)
  if ((await postTransfers(client, [transfer])) !== 1) throw new Error(`order ${order.id} was ended before`)
  for (const change of changes) await appendAdmissionEvent(client, change)
  if (isOperator) return ended
  const details = {
    series: series.id,
    model: series.model,
    side: order.side,
    left: formatTokens(order.micros - order.filledMicros),
    coin: coinDecimal(order.escrowNanos),
  }
  await recordActivity(client, actor, [{ accountId, type: `lock.order_${status}`, target: order.id, details }])
  return ended
}

function returnOf(
  series: LockSeries,
  { id: ref, accountId, side, escrowNanos, escrowMicros }: LockOrder,
  status: 'cancelled' | 'expired',
  coinUsdUnits: number,
): { transfer: Transfer; changes: AdmissionChange[] } {
  const kind = status === 'cancelled' ? 'lock_cancel' : 'lock_expiry'
  if (side === 'buy') {
    const [units, credit] = [valueOfCoin(escrowNanos, coinUsdUnits), coinSide(accountId, series.id)]
    const transfer = { kind, ref, debit: ESCROW_LOCKS, credit, units, coinNanos: escrowNanos }
    return { transfer, changes: coinChange(accountId, escrowNanos) }
  }
  const units = unitsOfTokens(escrowMicros, series.lockedPriceUnits)
  const isBack = status === 'cancelled'
  const credit = isBack ? holdingAccount(series.id, accountId) : lockIssuedAccount(series.id)
  const transfer = { kind, ref, debit: lockEscrowAccount(series.id), credit, units }
  return { transfer, changes: isBack ? tokenChange(series, accountId, units) : [] }
}
