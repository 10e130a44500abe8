import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { newId } from '../../../contract/wire/ids.ts'
import {
  holdingAccount,
  LOCK_OPERATOR,
  lockEscrowAccount,
  lockIssuedAccount,
  lockUnearnedAccount,
} from '../../book/ledger/accounts.ts'
import { openHolding } from '../../book/ledger/openHolding.ts'
import { openSystemAccounts } from '../../book/ledger/openLedgerAccount.ts'
import { postTransfers } from '../../book/ledger/postTransfers.ts'
import { insertSeries } from '../../catalog/pricing/seriesStore.ts'
import { GATEWAY_WIDE, OPERATOR, recordActivity } from '../../runtime/activity/activity.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { LocksLimits } from './limits.ts'
import { countLivingSeries, type LockSeries } from './series.ts'
import { unitsOfTokens } from './tradeAmounts.ts'

export type NewSeries = Omit<LockSeries, 'id' | 'state' | 'unavailable' | 'endsAtMs'>

/** The first instant of the month after one. @param month YYYY-MM */
function endOfMonthMs(month: string): number {
  const [year, number] = month.split('-').map(Number)
  return Date.UTC(year ?? 0, number ?? 0, 1)
}

/**
 * Issues a series: all its tokens are the operator's at first.
 * @throws GatewayError invalid_request when its month is over, or more series are open than may be
 */
export async function issueSeries(client: Client, made: NewSeries, limits: LocksLimits): Promise<LockSeries> {
  const endsAtMs = endOfMonthMs(made.month)
  const series: LockSeries = { ...made, id: newId('lock'), endsAtMs, state: 'open', unavailable: '' }
  if (series.endsAtMs <= Date.now()) throw invalidRequest(`The month ${made.month} is over.`)
  if ((await countLivingSeries(client)) >= limits.lockSeriesMax) {
    throw new GatewayError('invalid_request', { message: `At most ${limits.lockSeriesMax} series are open together.` })
  }
  const units = unitsOfTokens(series.supplyMicros, series.lockedPriceUnits)
  await insertSeries(client, series)
  await openHolding(client, series.id, LOCK_OPERATOR)
  await openSystemAccounts(client, [
    { id: lockIssuedAccount(series.id), currency: 'usd', mayGoNegative: true },
    { id: lockEscrowAccount(series.id), currency: 'usd', mayGoNegative: false },
    { id: lockUnearnedAccount(series.id), currency: 'coin', mayGoNegative: false },
  ])
  const [debit, credit] = [lockIssuedAccount(series.id), holdingAccount(series.id, LOCK_OPERATOR)]
  await postTransfers(client, [{ kind: 'lock_issue', ref: series.id, debit, credit, units }])
  const details = { model: series.model, month: series.month, provider: series.provider }
  await recordActivity(client, OPERATOR, [{ accountId: GATEWAY_WIDE, type: 'lock.issued', target: series.id, details }])
  return series
}
