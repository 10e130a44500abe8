import { type Hex, zeroAddress } from 'viem'
import type { Address } from '../../contract/payments/address.ts'
import { camelColumns } from '../runtime/db/columns.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import type { Fees } from './fees.ts'
import type { ExpectedTransfer, Purpose } from './outbox.ts'

/** A signed form of a transaction. */
export interface Attempt {
  readonly hash: Hex
  /** Absent when the payer sent it. */
  readonly raw: Hex | undefined
  readonly fees: Fees
  readonly ageMs: number
}

/**
 * How far a transaction is. `displaced`: it can get into no block, and what it was for may be done by another one. `stuck`: its
 * nonce was used and nothing shows whether it was made; only an operator may decide that it was not.
 */
export type TransactionState = 'pending' | 'mined' | 'reverted' | 'displaced' | 'stuck'

/** A stored transaction. */
export interface TransactionRow {
  readonly id: number
  readonly purpose: Purpose
  readonly ref: string
  readonly state: TransactionState
  /** Absent for a transaction of the payer. */
  readonly sender: Address | undefined
  readonly nonce: number
  readonly target: Address
  readonly data: Hex
  readonly gas: bigint
  /** Absent where no tokens move. */
  readonly transfer: ExpectedTransfer | undefined
  readonly blockNumber: number
  readonly blockHash: string
  /** No block before this one has it. */
  readonly sinceBlock: number
  /** Newest first. */
  readonly attempts: readonly Attempt[]
}

type Row = Pick<TransactionRow, 'id' | 'purpose' | 'ref' | 'state' | 'sinceBlock'> & {
  readonly sender: Address | null
  readonly nonce: number | null
  readonly target: Address | null
  readonly data: Buffer | null
  readonly gas: number | null
  readonly token: Address | null
  readonly from: Address | null
  readonly to: Address | null
  readonly amount: string | null
  readonly blockNumber: number | null
  readonly blockHash: string | null
  readonly attempts: Array<{ hash: Hex; raw: string | null; maxFee: string; priorityFee: string; ageMs: number }>
}

const COLUMNS = `${camelColumns('t.id, t.purpose, t.ref, t.state, t.sender, t.nonce, t.target, t.data, t.gas, t.token')},
  ${camelColumns('t.block_number, t.block_hash, t.since_block')}, t.transfer_from AS "from", t.transfer_to AS "to", t.amount::text AS amount,
  (SELECT json_agg(json_build_object('hash', a.hash, 'raw', encode(a.raw, 'hex'), 'maxFee', a.max_fee::text,
     'priorityFee', a.priority_fee::text,
     'ageMs', floor(extract(epoch FROM clock_timestamp() - a.signed_at) * 1000)) ORDER BY a.signed_at DESC, a.hash)
   FROM chain_attempts a WHERE a.transaction_id = t.id) AS attempts`

function transferOf({ token, from, to, amount }: Row): ExpectedTransfer | undefined {
  if (token === null || from === null || to === null || amount === null) return undefined
  return { token, from, to, amount: BigInt(amount) }
}

function toTransaction(row: Row): TransactionRow {
  const { id, purpose, ref, state, sinceBlock } = row
  return {
    id,
    purpose,
    ref,
    state,
    sinceBlock,
    sender: row.sender ?? undefined,
    nonce: row.nonce ?? -1,
    target: row.target ?? row.token ?? zeroAddress,
    data: `0x${row.data?.toString('hex') ?? ''}`,
    gas: BigInt(row.gas ?? 0),
    transfer: transferOf(row),
    blockNumber: row.blockNumber ?? -1,
    blockHash: row.blockHash ?? '',
    attempts: (row.attempts ?? []).map(({ hash, raw, maxFee, priorityFee, ageMs }) => ({
      hash,
      raw: raw === null ? undefined : `0x${raw}`,
      fees: { maxFeePerGas: BigInt(maxFee), maxPriorityFeePerGas: BigInt(priorityFee) },
      ageMs,
    })),
  }
}

/** Transactions that are in no block by the book, in the order in which they have to get in. */
export async function pendingTransactions(db: Queryable, limit: number): Promise<TransactionRow[]> {
  const found = await db.query<Row>(
    `SELECT ${COLUMNS} FROM chain_transactions t WHERE t.state IN ('pending', 'stuck') ORDER BY t.sender, t.nonce, t.id LIMIT $1`,
    [limit],
  )
  return found.rows.map(toTransaction)
}

/** The stuck transactions, oldest first. */
export async function stuckTransactions(db: Queryable, limit: number): Promise<TransactionRow[]> {
  const found = await db.query<Row>(
    `SELECT ${COLUMNS} FROM chain_transactions t WHERE t.state = 'stuck' ORDER BY t.id LIMIT $1`,
    [limit],
  )
  return found.rows.map(toTransaction)
}

/** One transaction by its id. */
export async function transactionOf(db: Queryable, id: number): Promise<TransactionRow | undefined> {
  const found = await db.query<Row>(`SELECT ${COLUMNS} FROM chain_transactions t WHERE t.id = $1`, [id])
  return found.rows[0] && toTransaction(found.rows[0])
}

/**
 * Condition on `chain_transactions t`: it was made, or may still be. A failed one counts until its block is final, since it
 * may succeed in another block; a stuck one until an operator has decided.
 */
export const MAY_BE_MADE = `(t.state IN ('pending', 'mined', 'stuck') OR (t.state = 'reverted' AND NOT t.final))`

/** Whether a transaction takes tokens of its sender elsewhere, so that making it a second time would lose money. */
export function isOutgoing({ sender, transfer }: TransactionRow): boolean {
  return sender !== undefined && transfer?.from === sender
}

/** The blocks that transactions are in which are not final yet. */
export async function openBlocks(db: Queryable, limit: number): Promise<Array<{ number: number; hash: string }>> {
  const found = await db.query<{ number: number; hash: string }>(
    `SELECT DISTINCT block_number AS number, block_hash AS hash FROM chain_transactions
     WHERE state IN ('mined', 'reverted') AND NOT final ORDER BY number LIMIT $1`,
    [limit],
  )
  return found.rows
}
