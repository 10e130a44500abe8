import { valueOfCoin } from '../../../contract/money/coin.ts'
import {
  coinAccount,
  ESCROW_LOCKS,
  holdingAccount,
  LOCK_OPERATOR,
  lockEscrowAccount,
  lockUnearnedAccount,
  REVENUE,
} from '../../book/ledger/accounts.ts'
import type { AdmissionChange } from '../../book/ledger/appendAdmissionEvent.ts'
import type { Transfer } from '../../book/ledger/postTransfers.ts'
import type { Fill, Side } from './orderBook.ts'
import type { LockSeries } from './series.ts'
import { unitsOfTokens } from './tradeAmounts.ts'

/** Both sides of a piece of trading: the transfers of the book, and what admission is told. */
export interface Postings {
  readonly transfers: readonly Transfer[]
  readonly changes: readonly AdmissionChange[]
}

/** Where coin for tokens of a series goes, or a bid's coin comes from. */
export function coinSide(accountId: string, seriesId: string): string {
  return accountId === LOCK_OPERATOR ? lockUnearnedAccount(seriesId) : coinAccount(accountId)
}

/** What goes into escrow for an order, of which fills are then paid: coin to buy with, or tokens to be sold. */
export function escrowPosting(
  series: LockSeries,
  order: { readonly id: string; readonly accountId: string; readonly side: Side },
  amount: { readonly nanos: number; readonly units: number },
): Transfer {
  const { id: ref, accountId, side } = order
  if (side === 'buy') {
    const debit = coinSide(accountId, series.id)
    return { kind: 'lock_order', ref, debit, credit: ESCROW_LOCKS, units: amount.units, coinNanos: amount.nanos }
  }
  const debit = holdingAccount(series.id, accountId)
  return { kind: 'lock_order', ref, debit, credit: lockEscrowAccount(series.id), units: amount.units }
}

/**
 * Fills, each with its coin and its tokens.
 * @param feesNanos of the taker, by fill
 * @param coinUsdUnits units in one coin
 */
export function fillPostings(
  series: LockSeries,
  fills: readonly Fill[],
  feesNanos: readonly number[],
  coinUsdUnits: number,
): Postings {
  const transfers: Transfer[] = []
  const changes: AdmissionChange[] = []
  for (const [i, { maker, taker, micros, costNanos }] of fills.entries()) {
    const ref = `${taker.id}:${maker.id}`
    const feeNanos = feesNanos[i] ?? 0
    const [buyer, seller] =
      taker.side === 'buy' ? [taker.accountId, maker.accountId] : [maker.accountId, taker.accountId]
    // A taker that buys pays its fee on top, one that sells pays it out of what it gets.
    const soldNanos = taker.side === 'buy' ? costNanos : costNanos - feeNanos
    const fromEscrow = (kind: string, credit: string, nanos: number): Transfer[] => {
      if (nanos === 0) return []
      return [{ kind, ref, debit: ESCROW_LOCKS, credit, units: valueOfCoin(nanos, coinUsdUnits), coinNanos: nanos }]
    }
    const units = unitsOfTokens(micros, series.lockedPriceUnits)
    const [from, to] = [lockEscrowAccount(series.id), holdingAccount(series.id, buyer)]
    transfers.push(
      ...fromEscrow('lock_sale', coinSide(seller, series.id), soldNanos),
      ...fromEscrow('lock_fee', REVENUE, feeNanos),
      { kind: 'lock_tokens', ref, debit: from, credit: to, units },
    )
    changes.push(...coinChange(seller, soldNanos), ...tokenChange(series, buyer, units))
  }
  return { transfers, changes }
}

/** Tells admission of coin that an account got. */
export function coinChange(accountId: string, nanos: number): AdmissionChange[] {
  return accountId === LOCK_OPERATOR || nanos === 0 ? [] : [{ accountId, coinDelta: nanos }]
}

/** Tells admission of tokens that an account got. */
export function tokenChange({ id, endsAtMs }: LockSeries, accountId: string, units: number): AdmissionChange[] {
  if (accountId === LOCK_OPERATOR) return []
  return [{ accountId, coinDelta: 0, grant: { id, expiresAtMs: endsAtMs, units } }]
}
