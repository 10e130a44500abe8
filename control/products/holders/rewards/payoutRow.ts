import type { Hex } from 'viem'
import type { Address } from '../../../../contract/payments/address.ts'
import { PAYMENTS_IN, REWARDS, VAULT } from '../../../book/ledger/accounts.ts'
import { postTransfers } from '../../../book/ledger/postTransfers.ts'
import { attemptRef, subjectOf } from '../../../chain/attemptRef.ts'
import { MAY_BE_MADE } from '../../../chain/transactionRow.ts'
import { locking } from '../../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../../runtime/db/pool.ts'
import type { HoldersLimits } from '../limits.ts'

/** The purpose of a payout: the rewards of a period to the distributor, or revenue to the vault. */
export type PayoutPurpose = 'reward' | 'vault'

/** Coin that a period has for a contract. */
export interface Payout {
  readonly purpose: PayoutPurpose
  /** Of the period. */
  readonly number: number
  readonly token: Address
  /** The contract. */
  readonly receiver: Address
  /** The smallest units of the token. */
  readonly amount: bigint
  readonly nanos: bigint
  /** Its worth when it was set aside. */
  readonly units: bigint
}

/** A payout that is not sent, and how far it is. */
export interface DuePayout extends Payout {
  readonly attempts: number
}

/** A root that the distributor does not have yet, although it has the coin. */
export interface DueRoot {
  readonly number: number
  readonly contract: Address
  readonly root: Hex
  readonly amount: bigint
  /** Calls that were sent for it. */
  readonly attempts: number
}

interface Row {
  readonly purpose: PayoutPurpose
  readonly number: number
  readonly token: Address
  readonly receiver: Address
  readonly amount: string
  readonly nanos: string
  readonly units: string
  readonly attempts: number
}

/** Stores a payout that is to be sent. */
export async function insertPayout(db: Queryable, payout: Payout): Promise<void> {
  const { purpose, number, token, receiver, amount, nanos, units } = payout
  await db.query(
    'INSERT INTO revenue_payouts (purpose, number, token, receiver, amount, nanos, units) VALUES ($1, $2, $3, $4, $5, $6, $7)',
    [purpose, number, token, receiver, String(amount), String(nanos), String(units)],
  )
}

/** The oldest payout of a kind that is not sent, where nothing that was sent for it can still be made and attempts are left. */
export async function duePayout(
  db: Queryable,
  purpose: PayoutPurpose,
  limits: HoldersLimits,
): Promise<DuePayout | undefined> {
  const found = await db.query<Row>(
    `SELECT purpose, number, token, receiver, amount::text AS amount, nanos::text AS nanos, units::text AS units, attempts
     FROM (SELECT * FROM revenue_payouts WHERE purpose = $1 AND state = 'sending' ORDER BY number LIMIT 1) p
     WHERE NOT EXISTS (SELECT FROM chain_transactions t
       WHERE t.purpose = p.purpose AND t.subject_id = p.number::text AND ${MAY_BE_MADE})
       AND attempts < coalesce(attempts_max, $2)`,
    [purpose, limits.payoutAttemptsMax],
  )
  const [row] = found.rows
  return row && { ...row, amount: BigInt(row.amount), nanos: BigInt(row.nanos), units: BigInt(row.units) }
}

/** The oldest root that is not published, where its coin is sent and no call for it can still be made. */
export async function dueRoot(db: Queryable): Promise<DueRoot | undefined> {
  const calls = `FROM chain_transactions t WHERE t.purpose = 'reward_root' AND t.subject_id = o.number::text`
  const found = await db.query<Omit<DueRoot, 'amount'> & { amount: string; is_open: boolean; is_funded: boolean }>(
    `SELECT o.number, o.receiver AS contract, '0x' || encode(p.root, 'hex') AS root, o.amount::text AS amount,
       (SELECT count(*) ${calls}) AS attempts, EXISTS (SELECT ${calls} AND ${MAY_BE_MADE}) AS is_open, o.state = 'sent' AS is_funded
     FROM revenue_payouts o JOIN revenue_periods p USING (number)
     WHERE o.purpose = 'reward' AND NOT EXISTS (SELECT ${calls} AND t.state = 'mined') ORDER BY o.number LIMIT 1`,
  )
  const [row] = found.rows
  if (row === undefined || row.is_open || !row.is_funded) return undefined
  const { number, contract, root, amount, attempts } = row
  return { number, contract, root, amount: BigInt(amount), attempts }
}

/** Records one more attempt, inside the caller's transaction. @returns its ref; undefined if another control was faster */
export async function takePayout(
  client: Client,
  { purpose, number, attempts }: DuePayout,
): Promise<string | undefined> {
  locking(client, 'payouts', () => [`${purpose}/${number}`])
  const taken = await client.query(
    `UPDATE revenue_payouts SET attempts = attempts + 1
     WHERE purpose = $1 AND number = $2 AND attempts = $3 AND state = 'sending'`,
    [purpose, number, attempts],
  )
  return taken.rowCount === 0 ? undefined : attemptRef(number, attempts + 1)
}

/** Follows the chain, which may take a transfer back and make it again: a payout that is sent is no longer a debt. */
export async function movePayout(
  client: Client,
  purpose: PayoutPurpose,
  ref: string,
  to: 'sending' | 'sent',
): Promise<void> {
  locking(client, 'payouts', () => [ref])
  const moved = await client.query<{ nanos: string; units: string; moves: number }>(
    `UPDATE revenue_payouts SET state = $3, moves = moves + 1 WHERE purpose = $1 AND number = $2 AND state <> $3
     RETURNING nanos::text AS nanos, units::text AS units, moves`,
    [purpose, Number(subjectOf(ref)), to],
  )
  const [row] = moved.rows
  if (row === undefined) return
  const owed = purpose === 'reward' ? REWARDS : VAULT
  const [debit, credit] = to === 'sent' ? [owed, PAYMENTS_IN] : [PAYMENTS_IN, owed]
  const kind = `${purpose}_${to === 'sent' ? 'sent' : 'unsent'}`
  const transfer = { kind, ref: `${Number(subjectOf(ref))}:${row.moves}`, debit, credit }
  await postTransfers(client, [{ ...transfer, units: BigInt(row.units), coinNanos: BigInt(row.nanos) }])
}

/** Allows a payout, as `PURPOSE/NUMBER`, that is not sent, a number of further attempts. @returns whether there is one */
export async function allowPayoutAttempts(client: Queryable, id: string, attempts: number): Promise<boolean> {
  const raised = await client.query(
    `UPDATE revenue_payouts SET attempts_max = attempts + $2 WHERE purpose || '/' || number = $1 AND state = 'sending'`,
    [id, attempts],
  )
  return raised.rowCount === 1
}
