import { valueOfCoinWide } from '../../../contract/money/coin.ts'
import {
  holdingAccount,
  LOCK_OPERATOR,
  lockIssuedAccount,
  lockOnchainAccount,
  lockUnearnedAccount,
  REVENUE,
} from '../../book/ledger/accounts.ts'
import { lockLedgerAccounts } from '../../book/ledger/lockLedgerAccounts.ts'
import { postTransfers } from '../../book/ledger/postTransfers.ts'
import { bookPrice } from '../../catalog/pricing/coinAmounts.ts'
import { breakUnserved } from '../../catalog/pricing/seriesPromise.ts'
import { setSeriesState } from '../../catalog/pricing/seriesStore.ts'
import { eachApart } from '../../chain/eachApart.ts'
import { GATEWAY } from '../../runtime/activity/activity.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import { type Client, type Pool, withTransaction } from '../../runtime/db/pool.ts'
import { Loop } from '../../runtime/loop.ts'
import { giveBack } from './endOrders.ts'
import type { LocksLimits } from './limits.ts'
import { openOrdersOfOne } from './orderStore.ts'
import { type PayBackParts, payBackHolders } from './payBack.ts'
import { endedSeries, type LockSeries, lockSeriesRow } from './series.ts'

/**
 * Ends series whose month is over, however long ago: open orders expire, the operator's stock burns, and once the holdings
 * are burnt as well, which is the sweep of admission, what was not earned yet becomes revenue. Broken series end immediately: open
 * orders are cancelled, and holders are paid back.
 */
export function seriesKeeper(parts: PayBackParts): Loop {
  const { pool, log, limits } = parts
  return new Loop('ended lock series', limits.lockSeriesCheckMs, log, async (signal) => {
    await forgetQuotes(pool, limits)
    const ended = await endedSeries(pool, limits.lockSeriesMax)
    // Holders do not wait for a bid that comes back to an account too full for it.
    const steps = ended.flatMap(({ id }) => [
      () => endInSteps(parts, id, signal),
      () => payBackHolders(parts, id, signal),
    ])
    await eachApart(steps, signal, (step) => step())
  })
}

async function endInSteps({ pool, limits }: PayBackParts, id: string, signal: AbortSignal): Promise<void> {
  for (let isMore = true; isMore && !signal.aborted; ) {
    isMore = await withTransaction(pool, (client) => endSeries(client, id, limits))
  }
}

/**
 * Takes the next step of a series whose month is over. Every step is done once, whichever process repeats it.
 * @returns whether there is another step that can be taken immediately
 */
export async function endSeries(client: Client, id: string, limits: LocksLimits): Promise<boolean> {
  const series = await lockSeriesRow(client, id)
  if (series.state === 'closed') return false
  if (series.state === 'open' && series.unavailable !== '') {
    await breakUnserved(client, series)
    return true
  }
  const coinUsdUnits = await bookPrice(client)
  // One account a step: the accounts that a transaction locks are locked together, or one alone.
  const orders = await openOrdersOfOne(client, id, limits.lockOrdersOpenMax)
  if (orders.length > 0) {
    const status = series.state === 'broken' ? 'cancelled' : 'expired'
    await giveBack(client, GATEWAY, orders, { series, status, coinUsdUnits })
    return true
  }
  if (series.state !== 'ended') return endOpen(client, series)
  if (await isHeld(client, id)) return false
  await earn(client, series, coinUsdUnits)
  await setSeriesState(client, id, 'closed')
  return false
}

/**
 * Ends a series without open orders. A broken one ends when its month is over and its holders are paid back: until then, tokens
 * may come back from the chain.
 */
async function endOpen(client: Client, { id, state, endsAtMs }: LockSeries): Promise<boolean> {
  const stock = holdingAccount(id, LOCK_OPERATOR)
  if (state === 'broken' && (Date.now() < endsAtMs || (await hasTokens(client, id)))) {
    await burn(client, id, [stock])
    return false
  }
  await burn(client, id, [stock, lockOnchainAccount(id)])
  await setSeriesState(client, id, 'ended')
  return true
}

/** Unsold tokens of the operator, and tokens on the chain, where the contract counts them as burnt from the same moment on. */
async function burn(client: Client, id: string, holdings: readonly string[]): Promise<void> {
  await lockLedgerAccounts(client, [...holdings, lockIssuedAccount(id)])
  for (const debit of holdings) {
    const units = await balanceOf(client, debit)
    if (units === 0n) continue
    await postTransfers(client, [{ kind: 'lock_expiry', ref: id, debit, credit: lockIssuedAccount(id), units }])
  }
}

/** Whether customers have tokens that they are not paid back for. */
async function hasTokens(client: Client, id: string): Promise<boolean> {
  const found = await client.query(
    `SELECT 1 FROM lock_holdings h JOIN ledger_accounts l ON l.id = 'lock:' || h.series_id || ':' || h.account_id
     WHERE h.series_id = $1 AND l.balance > 0 LIMIT 1`,
    [id],
  )
  return found.rowCount !== 0
}

/** Whether tokens are left: those of holds that are open are burnt with them, the others by the sweep of admission. */
async function isHeld(client: Client, id: string): Promise<boolean> {
  const found = await client.query('SELECT 1 FROM lock_holdings WHERE series_id = $1 AND NOT is_dropped LIMIT 1', [id])
  return found.rowCount !== 0
}

async function earn(client: Client, { id }: LockSeries, coinUsdUnits: number): Promise<void> {
  const debit = lockUnearnedAccount(id)
  const coinNanos = await balanceOf(client, debit)
  if (coinNanos === 0n) return
  const units = valueOfCoinWide(coinNanos, coinUsdUnits)
  await postTransfers(client, [{ kind: 'lock_earned', ref: id, debit, credit: REVENUE, units, coinNanos }])
}

/** Of the gateway's own accounts, which may have more than an account of a customer can hold. */
async function balanceOf(client: Client, ledgerAccount: string): Promise<bigint> {
  locking(client, 'ledgerAccounts', () => [ledgerAccount])
  const found = await client.query<{ balance: string }>(
    'SELECT balance::text AS balance FROM ledger_accounts WHERE id = $1 FOR NO KEY UPDATE',
    [ledgerAccount],
  )
  return BigInt(found.rows[0]?.balance ?? 0)
}

async function forgetQuotes(pool: Pool, limits: LocksLimits): Promise<void> {
  await pool.query(
    'DELETE FROM lock_quotes WHERE id IN (SELECT id FROM lock_quotes WHERE valid_until < now() LIMIT $1)',
    [limits.housekeepingBatchMax],
  )
}
