import { textArray } from '../runtime/db/arrays.ts'
import { locking } from '../runtime/db/lockOrder.ts'
import type { Client } from '../runtime/db/pool.ts'
import { groupsOf, type Seen } from './seenTransfer.ts'

/** A transfer that nothing in the book has claimed. */
export interface Unclaimed extends Seen {
  /** Its number among the equal transfers of its transaction, and how many those are. */
  readonly place: number
  readonly equals: number
}

/** Keeps other scans of the chain from being booked until the end of the transaction. */
export async function lockScan(client: Client): Promise<void> {
  locking(client, 'chainIdentity')
  await client.query('SELECT FROM chain_identity FOR UPDATE')
}

/** Notes how far the chain was read, and its newest block. */
export async function advanceScan(client: Client, last: number, newest: number): Promise<void> {
  await client.query('UPDATE chain_identity SET scanned_block = greatest(scanned_block, $1), head_block = $2', [
    last,
    newest,
  ])
}

/** Records a transfer that the gateway did not make. @param depositOf the account that it is a deposit of; absent for none */
export async function recordTransfer(client: Client, transfer: Unclaimed, depositOf?: string): Promise<void> {
  await client.query(
    `INSERT INTO chain_transfers
       (hash, log_index, block_number, token, transfer_from, transfer_to, amount, purpose, ref, place, equals)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      transfer.hash,
      transfer.logIndex,
      transfer.block,
      transfer.token,
      transfer.from,
      transfer.to,
      transfer.amount.toString(),
      depositOf === undefined ? 'other' : 'deposit',
      depositOf ?? '',
      transfer.place,
      transfer.equals,
    ],
  )
}

/**
 * The transfers that no transaction of the book has claimed, that were not counted before, and that were made after the book
 * opened their token. A transaction that was given up as lost was mined after all if it makes one of them: it is looked for
 * again.
 */
export async function newTransfers(client: Client, transfers: readonly Seen[]): Promise<Unclaimed[]> {
  if (transfers.length === 0) return []
  const hashes = textArray([...new Set(transfers.map(({ hash }) => hash))])
  await lookAgain(client, hashes)
  const counted = await countedTransfers(client, hashes)
  const opened = await client.query<{ token: string; block_number: number }>(
    'SELECT token, block_number FROM chain_openings',
  )
  const openings = new Map(opened.rows.map((row) => [row.token, row.block_number]))
  const recent = transfers.filter(({ token, block }) => block > (openings.get(token) ?? 0))
  return [...groupsOf(recent)].flatMap(([key, group]) => {
    const [{ hash } = { hash: '' }] = group
    if (counted.has(hash)) return []
    const known = counted.get(key) ?? { claims: 0, rows: 0 }
    const equals = group.length
    return group.slice(known.claims + known.rows).map((seen, at) => ({ ...seen, place: known.rows + at + 1, equals }))
  })
}

interface Counted {
  /** By transactions of the book. */
  readonly claims: number
  /** In chain_transfers. */
  readonly rows: number
}

/** The counted transfers, by their key; by the hash alone where a transaction of the book has all that it moves. */
async function countedTransfers(client: Client, hashes: string): Promise<ReadonlyMap<string, Counted>> {
  const found = await client.query<{ key: string; claims: number; rows: number }>(
    `SELECT key, sum(claims)::int AS claims, sum(rows)::int AS rows FROM (
       SELECT concat_ws(':', a.hash, t.token, t.transfer_from, t.transfer_to, t.amount) AS key, 1 AS claims, 0 AS rows
       FROM chain_attempts a JOIN chain_transactions t ON t.id = a.transaction_id WHERE a.hash = ANY ($1::text[])
       UNION ALL
       SELECT concat_ws(':', hash, token, transfer_from, transfer_to, amount), 0, 1
       FROM chain_transfers WHERE hash = ANY ($1::text[])) c GROUP BY key`,
    [hashes],
  )
  return new Map(found.rows.map(({ key, claims, rows }) => [key, { claims, rows }]))
}

async function lookAgain(client: Client, hashes: string): Promise<void> {
  locking(client, 'chainTransactions')
  await client.query(
    `UPDATE chain_transactions SET state = 'pending' WHERE state = 'displaced'
       AND id IN (SELECT transaction_id FROM chain_attempts WHERE hash = ANY ($1::text[]))`,
    [hashes],
  )
}
