import { quotaJson } from '../../../contract/catalog/quota.ts'
import { coinDecimal } from '../../../contract/money/coin.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { sumText } from '../../catalog/pricing/coinAmounts.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { IdentityLimits } from '../limits.ts'
import { accountBalance, accountOf, UnknownAccountError } from './accounts.ts'
import { availableOf } from './available.ts'
import { transferDayOf } from './keyTransfers.ts'
import { settingsOf } from './settings.ts'

/**
 * The balance of an account or an agent: by the book, and the part that requests may hold now (null while admission does
 * not know it). Expired grants are not counted, even before they are removed.
 * @throws UnknownAccountError
 */
export async function balanceJson(db: Queryable, redis: Redis, accountId: string) {
  return (await readBalance(db, redis, accountId)).json
}

async function readBalance(db: Queryable, redis: Redis, accountId: string) {
  const balance = await accountBalance(db, accountId)
  const available = await availableOf(redis, accountId)
  const nowMs = Date.now()
  const grants = balance.grants.filter((grant) => grant.expiresAtMs > nowMs)
  const amounts = (coinNanos: number, creditUnits: readonly number[]) => ({
    coin: coinDecimal(Math.max(0, coinNanos)),
    credits: sumText(creditUnits),
  })
  const json = {
    balance: amounts(
      balance.coinNanos,
      grants.map((grant) => grant.units),
    ),
    available: available === undefined ? null : amounts(available.coinNanos, available.creditUnits),
  }
  return { json, grants }
}

/**
 * An account as shown to its owner. The balance is the book's: charges of the last moments may not be booked yet. `available`
 * is the part that requests may hold now.
 * @throws UnknownAccountError
 */
export async function accountJson(db: Queryable, redis: Redis, accountId: string, limits: IdentityLimits) {
  const account = await accountOf(db, accountId)
  if (account === undefined) throw new UnknownAccountError(accountId)
  const { json, grants } = await readBalance(db, redis, accountId)
  const settings = await settingsOf(db, accountId)
  const transfers = await transferDayOf(db, accountId, Date.now(), limits)
  return {
    object: 'account' as const,
    id: account.id,
    name: account.name,
    ...json,
    credits: grants.map((grant) => ({
      object: 'credit_grant' as const,
      id: grant.grantId,
      amount: formatUsd(grant.units),
      source: grant.source,
      expires_at: new Date(grant.expiresAtMs).toISOString(),
    })),
    allow_retention: settings.allowRetention,
    transfer_cap_day: formatUsd(transfers.capUnits),
    ...quotaJson(settings),
    transferred_today: formatUsd(transfers.usedUnits),
    created_at: new Date(account.createdAtMs).toISOString(),
  }
}
