import { GatewayError } from '../../../../contract/errors/errors.ts'
import type { Address } from '../../../../contract/payments/address.ts'
import { camelColumns } from '../../../runtime/db/columns.ts'
import { countOf } from '../../../runtime/db/count.ts'
import type { Client, Queryable } from '../../../runtime/db/pool.ts'

export type DepositState = 'settling' | 'credited' | 'failed'

/** Money that an account received on the chain. `amount` is atomic units of the token. */
export interface Deposit {
  readonly id: string
  readonly accountId: string
  /** `authorization`: the wallet signed and the gateway sent it. `transfer`: it was seen on the chain. */
  readonly source: 'authorization' | 'transfer'
  readonly replayKey: string
  readonly wallet: Address
  readonly asset: string
  readonly token: Address
  readonly amount: bigint
  /** The coin that it is credited as, in integers of 1e-9 coin, and its worth on arrival. */
  readonly nanos: number
  readonly units: number
  readonly state: DepositState
  readonly createdAt: Date
  /** Of the transfer, once it is in a block. */
  readonly hash: string | null
}

type Row = Omit<Deposit, 'amount'> & { readonly amount: string }

const COLUMNS = `${camelColumns(`d.id, d.account_id, d.source, d.replay_key, d.wallet, d.asset, d.token, d.units, d.state,
  d.created_at`)}, d.amount::text AS amount, d.coin_nanos AS nanos, CASE WHEN d.source = 'transfer' THEN split_part(d.replay_key, ':', 1) ELSE (
    SELECT t.hash FROM chain_transactions t
    WHERE t.purpose = 'deposit' AND t.ref IN (d.id, d.id || ':other') AND t.state = 'mined' LIMIT 1) END AS hash`

const asDeposit = (row: Row): Deposit => ({ ...row, amount: BigInt(row.amount) })

/**
 * Writes a deposit, inside the caller's transaction.
 * @throws GatewayError authorization_used (409) when it was written before, payment_in_flight while another one of this
 *   wallet settles
 */
export async function insertDeposit(client: Client, deposit: Omit<Deposit, 'createdAt' | 'hash'>): Promise<void> {
  const { id, accountId, source, replayKey, wallet, asset, token, amount, nanos, units, state } = deposit
  const inserted = await client.query(
    `INSERT INTO deposits (id, account_id, source, replay_key, wallet, asset, token, amount, coin_nanos, units,
       state)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`,
    [id, accountId, source, replayKey, wallet, asset, token, amount.toString(), nanos, units, state],
  )
  if (inserted.rowCount === 1) return
  const same = await client.query('SELECT FROM deposits WHERE replay_key = $1', [replayKey])
  if (same.rowCount === 0) throw new GatewayError('payment_in_flight', { retryAfterSeconds: 2 })
  throw new GatewayError('authorization_used', { status: 409, param: 'authorization.nonce' })
}

/** A deposit of an account. */
export async function depositOf(db: Queryable, accountId: string, id: string): Promise<Deposit | undefined> {
  const found = await db.query<Row>(`SELECT ${COLUMNS} FROM deposits d WHERE d.id = $1 AND d.account_id = $2`, [
    id,
    accountId,
  ])
  return found.rows[0] && asDeposit(found.rows[0])
}

/** The deposits of an account, newest first. @param after the id of the deposit to continue after, or '' */
export async function pageOfDeposits(db: Queryable, accountId: string, limit: number, after: string) {
  const found = await db.query<Row>(
    `SELECT ${COLUMNS} FROM deposits d WHERE d.account_id = $1 AND ($2 = '' OR d.id < $2) ORDER BY d.id DESC LIMIT $3`,
    [accountId, after, limit],
  )
  return found.rows.map(asDeposit)
}

/** Deposits whose transactions can no longer make the transfer, oldest first. */
export async function unmovedDeposits(db: Queryable, limit: number): Promise<Deposit[]> {
  const found = await db.query<Row>(
    `SELECT ${COLUMNS} FROM deposits d
     WHERE d.state = 'settling' AND NOT EXISTS (SELECT FROM chain_transactions t WHERE t.purpose = 'deposit'
       AND t.ref IN (d.id, d.id || ':other') AND t.state IN ('pending', 'mined', 'stuck'))
     ORDER BY d.id LIMIT $1`,
    [limit],
  )
  return found.rows.map(asDeposit)
}

/** How many deposits by signature of an account have this id or a later one. */
export async function countSignedDeposits(client: Queryable, accountId: string, id: string): Promise<number> {
  return countOf(
    client,
    `SELECT count(*) FROM deposits WHERE source = 'authorization' AND account_id = $1 AND id >= $2`,
    [accountId, id],
  )
}
