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

/** The effects of a trade: ledger transfers and admission events. */
export interface Postings {
  readonly transfers: readonly Transfer[]
  readonly changes: readonly AdmissionChange[]
}

/** Where coin for tokens of a series goes, or a bid's coin comes from. */
export function coinSide(accountId: string, seriesId: string): string {
  return accountId === LOCK_OPERATOR ? lockUnearnedAccount(seriesId) : coinAccount(accountId)
}

/** Moves an order's coin or tokens into escrow; fills are paid from there. */
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

/** The sum of the fills of one order with one account. */
interface Counterpart {
  readonly accountId: string
  /** Names the transfers: the first of its orders that was filled. */
  readonly orderId: string
  micros: number
  costNanos: number
  feeNanos: number
}

/**
 * Fills of one order, with their coin and their tokens: transfers once for each account that it trades with, however many of
 * its orders are filled, and one change for each account.
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
  const taker = fills[0]?.taker
  if (taker === undefined) return { transfers, changes }
  for (const { accountId, orderId, micros, costNanos, feeNanos } of counterparts(fills, feesNanos)) {
    const ref = `${taker.id}:${orderId}`
    const [buyer, seller] = taker.side === 'buy' ? [taker.accountId, accountId] : [accountId, taker.accountId]
    // A taker that buys pays its fee on top, one that sells pays it out of what it gets.
    const soldNanos = taker.side === 'buy' ? costNanos : costNanos - feeNanos
    const fromEscrow = (kind: string, credit: string, nanos: number): Transfer[] => {
      if (nanos === 0) return []
      return [{ kind, ref, debit: ESCROW_LOCKS, credit, units: valueOfCoin(nanos, coinUsdUnits), coinNanos: nanos }]
    }
    const units = unitsOfTokens(micros, series.lockedPriceUnits)
    transfers.push(
      ...fromEscrow('lock_sale', coinSide(seller, series.id), soldNanos),
      ...fromEscrow('lock_fee', REVENUE, feeNanos),
      {
        kind: 'lock_tokens',
        ref,
        debit: lockEscrowAccount(series.id),
        credit: holdingAccount(series.id, buyer),
        units,
      },
    )
    changes.push(...coinChange(seller, soldNanos), ...tokenChange(series, buyer, units))
  }
  return { transfers, changes: oncePerAccount(changes) }
}

function counterparts(fills: readonly Fill[], feesNanos: readonly number[]): Iterable<Counterpart> {
  const byAccount = new Map<string, Counterpart>()
  for (const [i, { maker, micros, costNanos }] of fills.entries()) {
    const { accountId, id: orderId } = maker
    const sums = byAccount.get(accountId) ?? { accountId, orderId, micros: 0, costNanos: 0, feeNanos: 0 }
    sums.micros += micros
    sums.costNanos += costNanos
    sums.feeNanos += feesNanos[i] ?? 0
    byAccount.set(accountId, sums)
  }
  return byAccount.values()
}

/** The changes of an account as one. Tokens are all of one series. */
export function oncePerAccount(changes: readonly AdmissionChange[]): AdmissionChange[] {
  const byAccount = new Map<string, AdmissionChange>()
  for (const { accountId, coinDelta, grant } of changes) {
    const before = byAccount.get(accountId)
    const units = (before?.grant?.units ?? 0) + (grant?.units ?? 0)
    const tokens = grant ?? before?.grant
    byAccount.set(accountId, {
      accountId,
      coinDelta: (before?.coinDelta ?? 0) + coinDelta,
      ...(tokens && { grant: { ...tokens, units } }),
    })
  }
  return [...byAccount.values()]
}

/** Reports coin that an account got to admission. */
export function coinChange(accountId: string, nanos: number): AdmissionChange[] {
  return accountId === LOCK_OPERATOR || nanos === 0 ? [] : [{ accountId, coinDelta: nanos }]
}

/** Reports tokens that an account got to admission. */
export function tokenChange({ id, endsAtMs }: LockSeries, accountId: string, units: number): AdmissionChange[] {
  if (accountId === LOCK_OPERATOR) return []
  return [{ accountId, coinDelta: 0, grant: { id, expiresAtMs: endsAtMs, units } }]
}
