import { assertMoney } from '../../../contract/money/moneyFault.ts'
import { intArray, textArray } from '../../runtime/db/arrays.ts'
import { CopyRows, copyRows } from '../../runtime/db/copy.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'

/** Moves an amount from the debit to the credit account. Kind and ref name the business event, which is booked once. */
export interface Transfer<Amount extends number | bigint = number> {
  readonly kind: string
  readonly ref: string
  readonly debit: string
  readonly credit: string
  /** The change of USD accounts, or the worth of coin that moves between coin accounts; not negative. */
  readonly units: Amount
  /** The change of coin accounts; as many nanos as units where absent. At least one of both is above zero. */
  readonly coinNanos?: Amount
}

const INSERT = `
  INSERT INTO transfers (kind, ref, debit, credit, units, coin_nanos)
  SELECT kind, ref, debit, credit, units, nullif(nanos, units)
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    AS transfer (kind, ref, debit, credit, units, nanos)
  ON CONFLICT DO NOTHING`

/**
 * Books transfers in one statement; those booked before are left out.
 * @returns how many were new
 * @throws the database error when an account is unknown (SQLSTATE 23503) or a balance would fall below zero (23514)
 */
export async function postTransfers(
  client: Queryable,
  transfers: readonly Transfer<number | bigint>[],
): Promise<number> {
  if (transfers.length === 0) return 0
  locking(client, 'ledgerAccounts', () => transfers.flatMap(({ debit, credit }) => [debit, credit]))
  const inserted = await client.query({
    name: 'ledger_post_transfers',
    text: INSERT,
    values: [
      textArray(transfers.map((transfer) => transfer.kind)),
      textArray(transfers.map((transfer) => transfer.ref)),
      textArray(transfers.map((transfer) => transfer.debit)),
      textArray(transfers.map((transfer) => transfer.credit)),
      intArray(transfers.map((transfer) => transfer.units)),
      intArray(transfers.map((transfer) => transfer.coinNanos ?? transfer.units)),
    ],
  })
  return inserted.rowCount ?? 0
}

const COLUMNS = ['kind', 'ref', 'debit', 'credit', 'units', 'coin_nanos']
/** The usual maximum of a row. */
const EXPECTED_BYTES = 256

/**
 * Books many transfers of which none is booked yet.
 * @throws the database error as postTransfers does, and when one is booked already (SQLSTATE 23505)
 * @throws MoneyFault where one moves nothing
 */
export async function postNewTransfers(client: Client, transfers: readonly Transfer[]): Promise<void> {
  if (transfers.length === 0) return
  const rows = new CopyRows(COLUMNS.length, transfers.length * EXPECTED_BYTES)
  for (const { kind, ref, debit, credit, units, coinNanos = units } of transfers) {
    const moves = units >= 0 && coinNanos >= 0 && units + coinNanos > 0 && debit !== credit
    assertMoney(moves, 'transfer_moves_amount', `${kind} ${ref}`, units, coinNanos)
    rows.row()
    for (const text of [kind, ref, debit, credit]) rows.text(text)
    rows.bigint(units)
    if (coinNanos === units) rows.null()
    else rows.bigint(coinNanos)
  }
  locking(client, 'ledgerAccounts', () => transfers.flatMap(({ debit, credit }) => [debit, credit]))
  await copyRows(client, `transfers (${COLUMNS.join(', ')})`, rows)
}

/** Waits until no transaction has posted transfers that it has not committed, and keeps others from posting until the end. */
export async function lockTransfers(client: Client): Promise<void> {
  locking(client, 'transfers')
  await client.query('LOCK TABLE transfers IN SHARE MODE')
}
