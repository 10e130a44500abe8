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
import { type AdmissionChange, appendAdmissionEvents, lockAccounts } from '../../book/ledger/appendAdmissionEvent.ts'
import { postTransfers, type Transfer } from '../../book/ledger/postTransfers.ts'
import { type Actor, type Change, recordActivity } from '../../runtime/activity/activity.ts'
import type { Client } from '../../runtime/db/pool.ts'
import { endOrders, type LockOrder, orderById } from './orderStore.ts'
import { type LockSeries, lockOpenSeries } from './series.ts'
import { unitsOfTokens } from './tradeAmounts.ts'
import { coinChange, coinSide, oncePerAccount, tokenChange } from './tradePostings.ts'

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
  const [cancelled = order] = await giveBack(client, actor, [order], { series, status: 'cancelled', coinUsdUnits })
  return cancelled
}

/** How open orders end. */
interface OrderEnd {
  /** Locked in this transaction. */
  readonly series: LockSeries
  readonly status: 'cancelled' | 'expired'
  readonly coinUsdUnits: number
}

/**
 * Ends open orders of one account: coin in escrow goes back to it, tokens go back when they are cancelled and burn when they
 * expire with their series.
 */
export async function giveBack(
  client: Client,
  actor: Actor,
  orders: readonly LockOrder[],
  end: OrderEnd,
): Promise<LockOrder[]> {
  const { series, status, coinUsdUnits } = end
  const owner = orders[0]?.accountId
  if (owner === undefined) return []
  const isOperator = owner === LOCK_OPERATOR
  await lockAccounts(client, isOperator ? [] : [owner])
  const ids = orders.map(({ id }) => id)
  const ended = await endOrders(client, ids, status)
  const returns = orders.map((order) => returnOf(series, order, status, coinUsdUnits))
  const transfers = returns.map(({ transfer }) => transfer)
  if ((await postTransfers(client, transfers)) !== orders.length)
    throw new Error(`of ${ids.join(', ')} one was ended before`)
  const changes = oncePerAccount(returns.flatMap((one) => one.changes))
  if (changes.length > 0) await appendAdmissionEvents(client, changes)
  if (isOperator) return ended
  await recordActivity(
    client,
    actor,
    orders.map((order) => activityOf(series, order, status)),
  )
  return ended
}

function activityOf(series: LockSeries, order: LockOrder, status: 'cancelled' | 'expired'): Change {
  const details = {
    series: series.id,
    model: series.model,
    side: order.side,
    left: formatTokens(order.micros - order.filledMicros),
    coin: coinDecimal(order.escrowNanos),
  }
  return { accountId: order.accountId, type: `lock.order_${status}`, target: order.id, details }
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
