import { type Hex, zeroAddress } from 'viem'
import type { Address } from '../../contract/payments/address.ts'
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

interface Row {
  readonly id: number
  readonly purpose: Purpose
  readonly ref: string
  readonly state: TransactionState
  readonly sender: Address | null
  readonly nonce: number | null
  readonly target: Address | null
  readonly data: Buffer | null
  readonly gas: number | null
  readonly token: Address | null
  readonly transfer_from: Address | null
  readonly transfer_to: Address | null
  readonly amount: string | null
  readonly block_number: number | null
  readonly block_hash: string | null
  readonly since_block: number
  readonly attempts: Array<{ hash: Hex; raw: string | null; max_fee: string; priority_fee: string; age_ms: number }>
}

const COLUMNS = `t.id, t.purpose, t.ref, t.state, t.sender, t.nonce, t.target, t.data, t.gas, t.token, t.transfer_from,
  t.transfer_to, t.amount::text AS amount, t.block_number, t.block_hash, t.since_block,
  (SELECT json_agg(json_build_object('hash', a.hash, 'raw', encode(a.raw, 'hex'), 'max_fee', a.max_fee::text,
     'priority_fee', a.priority_fee::text,
     'age_ms', floor(extract(epoch FROM clock_timestamp() - a.signed_at) * 1000)) ORDER BY a.signed_at DESC, a.hash)
   FROM chain_attempts a WHERE a.transaction_id = t.id) AS attempts`

function transferOf({ token, transfer_from: from, transfer_to: to, amount }: Row): ExpectedTransfer | undefined {
  if (token === null || from === null || to === null || amount === null) return undefined
  return { token, from, to, amount: BigInt(amount) }
}

function toTransaction(row: Row): TransactionRow {
  return {
    id: row.id,
    purpose: row.purpose,
    ref: row.ref,
    state: row.state,
    sender: row.sender ?? undefined,
    nonce: row.nonce ?? -1,
    target: row.target ?? row.token ?? zeroAddress,
    data: `0x${row.data?.toString('hex') ?? ''}`,
    gas: BigInt(row.gas ?? 0),
    transfer: transferOf(row),
    blockNumber: row.block_number ?? -1,
    blockHash: row.block_hash ?? '',
    sinceBlock: row.since_block,
    attempts: (row.attempts ?? []).map((attempt) => ({
      hash: attempt.hash,
      raw: attempt.raw === null ? undefined : `0x${attempt.raw}`,
      fees: { maxFeePerGas: BigInt(attempt.max_fee), maxPriorityFeePerGas: BigInt(attempt.priority_fee) },
      ageMs: attempt.age_ms,
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
  const found = await db.query<{ block_number: number; block_hash: string }>(
    `SELECT DISTINCT block_number, block_hash FROM chain_transactions
     WHERE state IN ('mined', 'reverted') AND NOT final ORDER BY block_number LIMIT $1`,
    [limit],
  )
  return found.rows.map((row) => ({ number: row.block_number, hash: row.block_hash }))
}
