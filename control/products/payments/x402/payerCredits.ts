import type { Address } from '../../../../contract/payments/address.ts'
import { payerCreditAccount } from '../../../book/ledger/accounts.ts'
import { openPayerCredits } from '../../../book/ledger/openLedgerAccount.ts'
import { textArray } from '../../../runtime/db/arrays.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'

/**
 * Kinds of the transfers, by payment, that take from a payer's credit and add to it. Their amounts are units, as everywhere in
 * the book: a credit keeps its worth in USD when the price of its asset changes.
 */
export const CREDIT_USED = 'payer_credit_used'
export const CREDIT_KEPT = 'payer_credit_kept'

/** The credit of a wallet in one asset. */
export interface PayerCredit {
  readonly payer: Address
  /** 'coin' or 'stablecoin'. */
  readonly asset: string
}

/**
 * Credits in units, by their ledger accounts; zero for those that were never opened.
 * @returns a map that has each of them
 */
export async function creditsOf(db: Queryable, credits: readonly PayerCredit[]): Promise<Map<string, number>> {
  const ids = credits.map(({ payer, asset }) => payerCreditAccount(payer, asset))
  const found = await db.query<{ id: string; balance: number }>(
    'SELECT id, balance FROM ledger_accounts WHERE id = ANY ($1::text[])',
    [textArray(ids)],
  )
  const units = new Map(ids.map((id) => [id, 0]))
  for (const { id, balance } of found.rows) units.set(id, balance)
  return units
}

/** Opens the ledger accounts of credits; idempotent. */
export async function openCredits(db: Queryable, credits: readonly PayerCredit[]): Promise<void> {
  if (credits.length === 0) return
  await openPayerCredits(
    db,
    credits.map(({ payer, asset }) => payerCreditAccount(payer, asset)),
  )
}
