import type { Address } from '../../../contract/payments/address.ts'
import { intArray } from '../../runtime/db/arrays.ts'
import { camelColumns, textColumns } from '../../runtime/db/columns.ts'
import type { Queryable } from '../../runtime/db/pool.ts'

/** A settlement batch. Amounts are units. */
export interface SettlementBatch {
  readonly number: number
  readonly treeSizeFrom: number
  readonly treeSize: number
  readonly root: Buffer
  /** The checkpoint, and the verifier key that it is checked with. */
  readonly note: string
  readonly key: string
  /** By log: the place of its first receipt, and the place after its last. */
  readonly logFrom: readonly number[]
  readonly logUntil: readonly number[]
  readonly receiptsFrom: number
  readonly receiptsUntil: number
  readonly chargedUnits: bigint
  readonly heldUnits: bigint
  readonly owedUnits: bigint
  readonly statement: string
}

/** A batch as the book has it, with the outcome of its transactions. */
export interface StoredBatch extends SettlementBatch {
  readonly createdAt: Date
  /** Absent until one of them is deep enough in the chain. */
  readonly anchored?: Anchored
}

/** How far a batch is. */
export interface BatchProgress {
  readonly number: number
  readonly ageMs: number
  /** Transactions that were stored for it. */
  readonly attempts: number
  /** One of them may still get into a block. */
  readonly isOpen: boolean
  /** One of them is deep enough in the chain. */
  readonly isAnchored: boolean
}

/** Where a batch is on the chain. */
export interface Anchored {
  readonly contract: Address
  readonly hash: string
  readonly block: number
  /** Blocks that it is deep, its own counted, when the chain was read last. */
  readonly confirmations: number
}

type Lists = 'logFrom' | 'logUntil'
type Exact = 'chargedUnits' | 'heldUnits' | 'owedUnits'
type Row = Omit<StoredBatch, Lists | Exact | 'anchored'> & {
  readonly [Name in Lists]: string[]
} & { readonly [Name in Exact]: string } & {
  readonly [Name in keyof Anchored]: Anchored[Name] | null
}

const BATCHES = `
  SELECT ${camelColumns(`b.number, b.tree_size_from, b.tree_size, b.root, b.note, b.key, b.receipts_from, b.receipts_until,
    b.statement, b.created_at`)}, ${textColumns('b.charged_units, b.held_units, b.owed_units')},
    b.log_from::text[] AS "logFrom", b.log_until::text[] AS "logUntil", m.target AS contract, m.hash, m.block_number AS block,
    greatest(coalesce(i.head_block, m.block_number) - m.block_number + 1, 1) AS confirmations
  FROM settlement_batches b
  LEFT JOIN LATERAL (
    SELECT target, hash, block_number FROM chain_transactions
    WHERE purpose = 'settlement' AND subject_id = b.number::text AND state = 'mined' LIMIT 1
  ) m ON true
  LEFT JOIN chain_identity i ON true`

/** Batches, newest first. @param below the number that all of them are below */
export async function pageOfBatches(db: Queryable, limit: number, below: number): Promise<StoredBatch[]> {
  const found = await db.query<Row>(`${BATCHES} WHERE b.number < $1 ORDER BY b.number DESC LIMIT $2`, [below, limit])
  return found.rows.map(batchOf)
}

/** One batch by its number. */
export async function batchNumbered(db: Queryable, number: number): Promise<StoredBatch | undefined> {
  const found = await db.query<Row>(`${BATCHES} WHERE b.number = $1`, [number])
  return found.rows[0] && batchOf(found.rows[0])
}

/** The last batches, newest first, that the chain may have taken back. */
export async function lastProgress(db: Queryable, limit: number): Promise<BatchProgress[]> {
  const found = await db.query<BatchProgress>(
    `SELECT b.number, (extract(epoch FROM clock_timestamp() - b.created_at) * 1000)::float8 AS "ageMs", t.*
     FROM (SELECT number, created_at FROM settlement_batches ORDER BY number DESC LIMIT $1) b
     CROSS JOIN LATERAL (
       SELECT count(*) AS attempts, coalesce(bool_or(state IN ('pending', 'stuck')), false) AS "isOpen",
         coalesce(bool_or(state = 'mined'), false) AS "isAnchored" FROM chain_transactions
       WHERE purpose = 'settlement' AND subject_id = b.number::text
     ) t ORDER BY b.number DESC`,
    [limit],
  )
  return found.rows
}

/** Stores a batch. @throws the database error when another control has stored one of this number or checkpoint (23505) */
export async function insertBatch(db: Queryable, batch: SettlementBatch): Promise<void> {
  await db.query(
    `INSERT INTO settlement_batches (number, tree_size_from, tree_size, root, note, key, log_from, log_until,
       receipts_from, receipts_until, charged_units, held_units, owed_units, statement)
     VALUES ($1, $2, $3, $4, $5, $6, $7::bigint[], $8::bigint[], $9, $10, $11, $12, $13, $14)`,
    [
      batch.number,
      batch.treeSizeFrom,
      batch.treeSize,
      batch.root,
      batch.note,
      batch.key,
      intArray(batch.logFrom),
      intArray(batch.logUntil),
      batch.receiptsFrom,
      batch.receiptsUntil,
      batch.chargedUnits.toString(),
      batch.heldUnits.toString(),
      batch.owedUnits.toString(),
      batch.statement,
    ],
  )
}

function batchOf({ contract, hash, block, confirmations, ...row }: Row): StoredBatch {
  const batch: StoredBatch = {
    ...row,
    logFrom: row.logFrom.map(Number),
    logUntil: row.logUntil.map(Number),
    chargedUnits: BigInt(row.chargedUnits),
    heldUnits: BigInt(row.heldUnits),
    owedUnits: BigInt(row.owedUnits),
  }
  if (contract === null || hash === null || block === null) return batch
  return { ...batch, anchored: { contract, hash, block, confirmations: confirmations ?? 1 } }
}
