import type { Address } from '../../../contract/payments/address.ts'
import { intArray } from '../../runtime/db/arrays.ts'
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

interface Row {
  readonly number: number
  readonly tree_size_from: number
  readonly tree_size: number
  readonly root: Buffer
  readonly note: string
  readonly key: string
  readonly log_from: string[]
  readonly log_until: string[]
  readonly receipts_from: number
  readonly receipts_until: number
  readonly charged_units: string
  readonly held_units: string
  readonly owed_units: string
  readonly statement: string
  readonly created_at: Date
  readonly contract: Address | null
  readonly hash: string | null
  readonly block_number: number | null
  readonly confirmations: number | null
}

/** Separates the number of a batch and that of the attempt in the ref of a transaction. */
export const ATTEMPT = '#'

/** The number of the batch that a transaction anchors. */
export const batchOfRef = (ref: string): number => Number(ref.slice(0, ref.indexOf(ATTEMPT)))

const BATCHES = `
  SELECT b.number, b.tree_size_from, b.tree_size, b.root, b.note, b.key, b.log_from::text[] AS log_from,
    b.log_until::text[] AS log_until, b.receipts_from, b.receipts_until, b.charged_units::text AS charged_units,
    b.held_units::text AS held_units, b.owed_units::text AS owed_units, b.statement, b.created_at,
    m.target AS contract, m.hash, m.block_number,
    greatest(coalesce(i.head_block, m.block_number) - m.block_number + 1, 1) AS confirmations
  FROM settlement_batches b
  LEFT JOIN LATERAL (
    SELECT target, hash, block_number FROM chain_transactions
    WHERE purpose = 'settlement' AND split_part(ref, '${ATTEMPT}', 1) = b.number::text AND state = 'mined' LIMIT 1
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
       WHERE purpose = 'settlement' AND split_part(ref, '${ATTEMPT}', 1) = b.number::text
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

function batchOf(row: Row): StoredBatch {
  const batch: StoredBatch = {
    number: row.number,
    treeSizeFrom: row.tree_size_from,
    treeSize: row.tree_size,
    root: row.root,
    note: row.note,
    key: row.key,
    logFrom: row.log_from.map(Number),
    logUntil: row.log_until.map(Number),
    receiptsFrom: row.receipts_from,
    receiptsUntil: row.receipts_until,
    chargedUnits: BigInt(row.charged_units),
    heldUnits: BigInt(row.held_units),
    owedUnits: BigInt(row.owed_units),
    statement: row.statement,
    createdAt: row.created_at,
  }
  const { contract, hash, block_number: block, confirmations } = row
  if (contract === null || hash === null || block === null) return batch
  return { ...batch, anchored: { contract, hash, block, confirmations: confirmations ?? 1 } }
}
