import type { Queryable } from '../../runtime/db/pool.ts'

/** Currencies of debts: coin in integers of 1e-9 coin, US dollars in units. */
export type OwedCurrency = 'coin' | 'usd'

/** One class of ledger accounts whose balances are owed. */
interface LiabilityRow {
  readonly name: string
  readonly currency: OwedCurrency
  /** The account itself, or the prefix of its accounts' ids. */
  readonly id?: string
  readonly prefix?: string
}

/**
 * Every ledger account whose balance is a debt, by its id. Free credits are not among them: they can only be spent here
 * and are never paid out. An audit fails when no row covers an account of coin.
 */
export const LIABILITIES = [
  /** Of accounts and agents. */
  { name: 'customer_coin', currency: 'coin', prefix: 'coin:' },
  /** Of open links and of withdrawals that are not sent. */
  { name: 'escrow', currency: 'coin', id: 'escrow_coin' },
  { name: 'lock_bids', currency: 'coin', id: 'escrow_locks' },
  { name: 'lock_collateral', currency: 'coin', prefix: 'lock_unearned:' },
  { name: 'holder_rewards', currency: 'coin', id: 'rewards' },
  /** Of the vault's shares, until the treasury has sent it. */
  { name: 'vault_revenue', currency: 'coin', id: 'vault' },
  /** Of requests paid one by one that have not ended. */
  { name: 'open_payments', currency: 'usd', prefix: 'coin:' },
  /** That are not sent. */
  { name: 'refunds', currency: 'usd', id: 'escrow' },
  { name: 'payer_credits', currency: 'usd', prefix: 'payer_credit:' },
] as const satisfies readonly LiabilityRow[]

export type LiabilityClass = (typeof LIABILITIES)[number]['name']

/** A class and its debt. */
export interface Owed {
  readonly name: LiabilityClass
  readonly currency: OwedCurrency
  /** Ledger accounts of the class. */
  readonly accounts: number
  /** Nanos of coin, or units. */
  readonly amount: bigint
}

/** SQL: the class of the ledger account `a` by the table, NULL for none. */
export const LIABILITY_CLASS = `CASE ${LIABILITIES.map(conditionOf).join(' ')} END`

function conditionOf({ name, currency, id, prefix }: LiabilityRow): string {
  const isOfRow = id === undefined ? `starts_with(a.id, '${prefix}')` : `a.id = '${id}'`
  return `WHEN a.currency = '${currency}' AND ${isOfRow} THEN '${name}'`
}

/**
 * The present debts of the book, by class, in the order of the table; classes without accounts are zero.
 * @param db a transaction, where several reads have to see the same moment
 */
export async function owedByClass(db: Queryable): Promise<Owed[]> {
  const found = await db.query<{ class: string | null; accounts: number; amount: string }>(
    `SELECT ${LIABILITY_CLASS} AS class, count(*) AS accounts, sum(a.balance)::text AS amount
     FROM ledger_accounts a GROUP BY 1`,
  )
  const byClass = new Map(found.rows.map((row) => [row.class, row]))
  return LIABILITIES.map(({ name, currency }) => {
    const { accounts = 0, amount = '0' } = byClass.get(name) ?? {}
    return { name, currency, accounts, amount: BigInt(amount) }
  })
}

/** The part of the debts in a currency: nanos of coin, or units. */
export function owedIn(owed: readonly Owed[], currency: OwedCurrency): bigint {
  return owed.filter((one) => one.currency === currency).reduce((sum, { amount }) => sum + amount, 0n)
}
