import { coinDecimal } from '../../../contract/money/coin.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { insertAccount } from '../../book/ledger/accountRow.ts'
import { coinAccount, HOUSE, PAYMENTS_IN } from '../../book/ledger/accounts.ts'
import { lockAccounts } from '../../book/ledger/appendAdmissionEvent.ts'
import { type AccountBalance, balanceOf } from '../../book/ledger/balanceOf.ts'
import { creditCoin } from '../../book/ledger/creditCoin.ts'
import { grantCredits } from '../../book/ledger/grantCredits.ts'
import { lockLedgerAccounts } from '../../book/ledger/lockLedgerAccounts.ts'
import { openAccount } from '../../book/ledger/openAccount.ts'
import { ReusedRefError } from '../../book/ledger/reusedRefError.ts'
import { bookableCoin, bookPrice, type CoinAmount } from '../../catalog/pricing/coinAmounts.ts'
import { OPERATOR, recordActivity } from '../../runtime/activity/activity.ts'
import { msColumns } from '../../runtime/db/columns.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import { type Client, type Pool, type Queryable, withTransaction } from '../../runtime/db/pool.ts'
import type { IdentityLimits } from '../limits.ts'

const YEAR_MS = 365 * 86_400_000

/** No account with this id. */
export class UnknownAccountError extends Error {
  override readonly name = 'UnknownAccountError'

  constructor(accountId: string) {
    super(`there is no account ${accountId}`)
  }
}

/** Amounts to credit; absent ones are not credited. */
export interface Credit {
  /** Free credits in units, as a grant with an expiry. */
  readonly creditUnits?: number
  /** Coin, as an integer of 1e-9 coin. */
  readonly coinNanos?: number
  /** The giver of the credits, as shown to the customer; 'operator' when absent. */
  readonly source?: string
  /** When the grant ends, milliseconds since 1970; in a year when absent. */
  readonly expiresAtMs?: number
  /** Names the payment, so that the same one is credited to this account once; a new id when absent. */
  readonly ref?: string
}

export interface Account {
  readonly id: string
  readonly name: string
  readonly createdAtMs: number
}

/** Opens an account for the operator with its first balance, inside the caller's transaction. @returns its id */
export async function createAccount(
  client: Client,
  limits: IdentityLimits,
  options: Credit & { name?: string } = {},
): Promise<string> {
  const accountId = newId('acct')
  await insertAccount(client, accountId, options.name ?? '')
  await openAccount(client, accountId)
  await recordActivity(client, OPERATOR, [{ accountId, type: 'account.created', target: accountId }])
  await creditAccount(client, accountId, options, limits)
  return accountId
}

interface Booked {
  readonly coinNanos: number
  readonly creditUnits: number
}

/** The amounts that a payment has credited to an account. Locks the account's row, which serializes concurrent payments. */
async function bookedBefore(client: Client, accountId: string, ref: string): Promise<Booked> {
  locking(client, 'accounts', () => [accountId])
  await client.query('SELECT 1 FROM admission_accounts WHERE account_id = $1 FOR UPDATE', [accountId])
  const found = await client.query<Booked>(
    `SELECT coalesce((SELECT coalesce(coin_nanos, units) FROM transfers WHERE ref = $2 AND kind = 'payment' AND credit = $3), 0) AS "coinNanos",
       coalesce((SELECT units FROM grants WHERE account_id = $1 AND ref = $2), 0) AS "creditUnits"`,
    [accountId, ref, coinAccount(accountId)],
  )
  return found.rows[0] ?? { coinNanos: 0, creditUnits: 0 }
}

const describe = (coinNanos: number, creditUnits: number): string =>
  `${coinDecimal(coinNanos)} coin and ${formatUsd(creditUnits)} USD of credits`

/** @returns whether the payment was credited before, with the same amounts. @throws ReusedRefError when with others */
async function isRepeat(client: Client, accountId: string, ref: string, credit: Credit): Promise<boolean> {
  const before = await bookedBefore(client, accountId, ref)
  if (before.coinNanos === 0 && before.creditUnits === 0) return false
  const [coinNanos, creditUnits] = [credit.coinNanos ?? 0, credit.creditUnits ?? 0]
  if (before.coinNanos === coinNanos && before.creditUnits === creditUnits) return true
  const then = describe(before.coinNanos, before.creditUnits)
  throw new ReusedRefError(ref, accountId, `${then} then, ${describe(coinNanos, creditUnits)} now`)
}

/**
 * Adds credits, coin or both for the operator, inside the caller's transaction.
 * @returns false when the payment that `ref` names was credited to this account before; nothing changes then
 * @throws UnknownAccountError; ReusedRefError when it was credited before with other amounts
 */
export async function creditAccount(
  client: Client,
  accountId: string,
  credit: Credit,
  limits: IdentityLimits,
): Promise<boolean> {
  if ((await accountOf(client, accountId)) === undefined) throw new UnknownAccountError(accountId)
  if (credit.ref !== undefined && (await isRepeat(client, accountId, credit.ref, credit))) return false
  const ref = credit.ref ?? newId('evt')
  const { coinNanos: nanos = 0 } = credit
  await lockAccounts(client, [accountId])
  if (nanos > 0 && (credit.creditUnits ?? 0) > 0) {
    await lockLedgerAccounts(client, [coinAccount(accountId), HOUSE, PAYMENTS_IN])
  }
  if (nanos > 0) {
    const { units } = await creditable(client, nanos)
    await creditCoin(client, { accountId, nanos, units, ref })
    const details = { amount: formatUsd(units), coin: coinDecimal(nanos), ref }
    await recordActivity(client, OPERATOR, [{ accountId, type: 'coin.credited', target: accountId, details }])
  }
  if (credit.creditUnits !== undefined && credit.creditUnits > 0) {
    const source = credit.source ?? 'operator'
    const expiresAtMs = credit.expiresAtMs ?? Date.now() + YEAR_MS
    const grant = { accountId, units: credit.creditUnits, source, expiresAtMs, ref }
    const { grantId } = await grantCredits(client, grant, limits)
    const expires_at = new Date(expiresAtMs).toISOString()
    const details = { amount: formatUsd(credit.creditUnits), source, expires_at, ref }
    await recordActivity(client, OPERATOR, [{ accountId, type: 'credits.granted', target: grantId, details }])
  }
  return true
}

/** @throws RangeError for more than can be booked */
async function creditable(client: Client, nanos: number): Promise<CoinAmount> {
  const amount = bookableCoin(nanos, await bookPrice(client))
  if (amount !== undefined) return amount
  throw new RangeError(`${coinDecimal(nanos)} coin is worth more than can be booked`)
}

const COLUMNS = `id, name, ${msColumns('created_at')}`

/** The account, or undefined for an unknown id. */
export async function accountOf(db: Queryable, accountId: string): Promise<Account | undefined> {
  const found = await db.query<Account>(`SELECT ${COLUMNS} FROM accounts WHERE id = $1`, [accountId])
  return found.rows[0]
}

/**
 * Accounts by age, oldest first.
 * @param after the id of the account to continue after; '' starts at the oldest
 */
export async function listAccounts(db: Queryable, limit: number, after = ''): Promise<Account[]> {
  const found = await db.query<Account>(`SELECT ${COLUMNS} FROM accounts WHERE id > $1 ORDER BY id LIMIT $2`, [
    after,
    limit,
  ])
  return found.rows
}

/** The account's balance by the book. @throws UnknownAccountError */
export async function accountBalance(db: Queryable, accountId: string): Promise<AccountBalance> {
  const balance = await balanceOf(db, accountId)
  if (balance === undefined) throw new UnknownAccountError(accountId)
  return balance
}

/** `createAccount` in its own transaction. */
export function openNewAccount(
  pool: Pool,
  limits: IdentityLimits,
  options: Credit & { name?: string } = {},
): Promise<string> {
  return withTransaction(pool, (client) => createAccount(client, limits, options))
}
