import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { coinDecimal, coinFor, valueOfCoin, valueOfCoinWide } from '../../../contract/money/coin.ts'
import { formatTokens, MICROS_PER_TOKEN } from '../../../contract/money/lockTokens.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { bookTaking, type Debits, type Taking } from '../../admission/debits/debit.ts'
import { LOCK_OPERATOR } from '../../book/ledger/accounts.ts'
import { appendAdmissionEvents, lockAccounts } from '../../book/ledger/appendAdmissionEvent.ts'
import { hasRoom } from '../../book/ledger/coinRoom.ts'
import { openHoldings } from '../../book/ledger/openHolding.ts'
import { postTransfers } from '../../book/ledger/postTransfers.ts'
import { type Actor, type Change, GATEWAY, recordActivity } from '../../runtime/activity/activity.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { UndoableTransaction } from '../../runtime/db/undoable.ts'
import type { LocksLimits } from './limits.ts'
import { inBounds, type Matched, matchOrder, tooLarge, type WantedOrder } from './matchOrder.ts'
import type { Fill } from './orderBook.ts'
import { insertFills, insertOrder, type LockOrder } from './orderStore.ts'
import { type LockSeries, refuseMoreThanSupply } from './series.ts'
import { costOf, unitsOfTokens } from './tradeAmounts.ts'
import { escrowPosting, fillPostings } from './tradePostings.ts'

export interface PlacedOrder {
  readonly order: LockOrder
  readonly fills: readonly Fill[]
  readonly costNanos: number
  readonly feeNanos: number
  /** Whose balances or holdings have changed. */
  readonly accountIds: readonly string[]
}

/**
 * Matches an order against the book of its series and books it: escrow, fills and both sides of each, in the caller's
 * transaction.
 * @param series locked by `lockTradedSeries` in this transaction
 * @param coinUsdUnits units in one coin
 * @throws GatewayError lock_no_offer, lock_self_trade, lock_price_moved, below_minimum, invalid_request; what `Debits.take` throws
 */
export async function placeOrder(
  transaction: UndoableTransaction,
  debits: Debits,
  actor: Actor,
  { series, wanted, coinUsdUnits }: { series: LockSeries; wanted: WantedOrder; coinUsdUnits: number },
  limits: LocksLimits,
): Promise<PlacedOrder> {
  const { client } = transaction
  refuseDust(wanted, coinUsdUnits, limits)
  const id = newId('lor')
  const matched = await matchOrder(client, series, id, wanted, limits)
  const taking = takingOf(series, id, wanted, matched, coinUsdUnits)
  const isOperator = wanted.accountId === LOCK_OPERATOR
  const takenAtMs = isOperator ? 0 : await debits.take(transaction, taking)

  const makers = matched.fills.map(({ maker }) => maker.accountId)
  const accountIds = [...new Set([wanted.accountId, ...makers])].filter((account) => account !== LOCK_OPERATOR)
  await lockAccounts(client, accountIds)
  if (wanted.side === 'sell' && !isOperator) await refuseTooFull(client, wanted.accountId, matched)
  const order = await insertOrder(client, orderOf(series, id, wanted, matched))
  await insertFills(client, series.id, matched.fills, matched.feesNanos)
  const buyers = wanted.side === 'buy' ? [wanted.accountId] : makers
  if (matched.fills.length > 0) await openHoldings(client, series.id, [...new Set(buyers)])

  const postings = fillPostings(series, matched.fills, matched.feesNanos, coinUsdUnits)
  const transfers = [escrowPosting(series, { id, ...wanted }, taking), ...postings.transfers]
  const posted = await postTransfers(client, transfers)
  if (posted !== transfers.length) throw new Error(`transfers of order ${id} were booked before`)
  if (!isOperator) await bookTaking(client, taking, takenAtMs)
  if (postings.changes.length > 0) await appendAdmissionEvents(client, postings.changes)
  await note(client, actor, series, order, matched)
  return { order, ...matched, accountIds }
}

/** A limit order rests, so that it has to be worth something; one at market ends immediately. */
function refuseDust({ accountId, priceNanos, micros }: WantedOrder, coinUsdUnits: number, limits: LocksLimits): void {
  if (priceNanos === undefined || accountId === LOCK_OPERATOR) return
  const nanos = (BigInt(priceNanos) * BigInt(micros)) / BigInt(MICROS_PER_TOKEN)
  if (valueOfCoinWide(nanos, coinUsdUnits) >= BigInt(limits.lockOrderUnitsMin)) return
  const least = `${coinDecimal(coinFor(limits.lockOrderUnitsMin, coinUsdUnits))} coin, now ${formatUsd(limits.lockOrderUnitsMin)} USD`
  const message = `A limit order is for at least ${least}; order more, or at market.`
  throw new GatewayError('below_minimum', { message, param: 'tokens', status: 409 })
}

/** The amount to be taken off the account: the cost or tokens of the fills, and the most for the rest of the order. */
function takingOf(
  series: LockSeries,
  id: string,
  { accountId, side, priceNanos, spender }: WantedOrder,
  { costNanos, feeNanos, filledMicros, restMicros }: Matched,
  coinUsdUnits: number,
): Taking {
  if (side === 'sell') {
    refuseMoreThanSupply(series, filledMicros + restMicros)
    const units = unitsOfTokens(filledMicros + restMicros, series.lockedPriceUnits)
    return { id, accountId, nanos: 0, units, series }
  }
  const rest = priceNanos === undefined ? 0 : inBounds(() => costOf(priceNanos, restMicros))
  const nanos = costNanos + feeNanos + rest
  const units = valueOfCoin(nanos, coinUsdUnits)
  if (!Number.isSafeInteger(nanos)) throw tooLarge()
  if (units === 0) throw invalidRequest('This order is for less coin than can be booked; order more.', 'tokens')
  return { id, accountId, nanos, units, ...(spender && { spender }) }
}

/** @throws GatewayError invalid_request where an account cannot hold what its tokens sell for */
async function refuseTooFull(client: Client, accountId: string, { costNanos, feeNanos }: Matched): Promise<void> {
  if (!(await hasRoom(client, accountId, costNanos - feeNanos))) throw tooLarge()
}

function orderOf(
  series: LockSeries,
  id: string,
  { accountId, side, priceNanos, micros }: WantedOrder,
  { filledMicros, restMicros }: Matched,
): Omit<LockOrder, 'createdAtMs' | 'endedAtMs'> {
  const isOpen = restMicros > 0
  return {
    id,
    seriesId: series.id,
    accountId,
    side,
    priceNanos: priceNanos ?? null,
    micros,
    filledMicros,
    status: isOpen ? 'open' : filledMicros === micros ? 'filled' : 'cancelled',
    escrowNanos: isOpen && side === 'buy' ? costOf(priceNanos ?? 0, restMicros) : 0,
    escrowMicros: side === 'sell' ? restMicros : 0,
  }
}

/** The taker's order, and each order of another account that it filled. */
async function note(
  client: Client,
  actor: Actor,
  series: LockSeries,
  order: LockOrder,
  { fills, costNanos, feeNanos, filledMicros }: Matched,
): Promise<void> {
  const about = { series: series.id, model: series.model }
  const details = {
    ...about,
    side: order.side,
    tokens: formatTokens(order.micros),
    filled: formatTokens(filledMicros),
    coin: coinDecimal(costNanos),
    fee: coinDecimal(feeNanos),
    status: order.status,
  }
  if (order.accountId !== LOCK_OPERATOR) {
    await recordActivity(client, actor, [
      { accountId: order.accountId, type: 'lock.order_placed', target: order.id, details },
    ])
  }
  const filled = fills.filter(({ maker }) => maker.accountId !== LOCK_OPERATOR)
  await recordActivity(
    client,
    GATEWAY,
    filled.map(({ maker, micros, costNanos: coin }): Change => {
      const made = { ...about, side: maker.side, filled: formatTokens(micros), coin: coinDecimal(coin) }
      return { accountId: maker.accountId, type: 'lock.order_filled', target: maker.id, details: made }
    }),
  )
}
