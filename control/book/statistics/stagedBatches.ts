import { intArray } from '../../runtime/db/arrays.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { Stretch } from '../usagelog/stretches.ts'
import { batchCells, type CountedReceipt } from './batchCells.ts'
import type { OwnedCell } from './cell.ts'

/** The receipts that were booked in one transaction. */
export interface StagedBatch {
  readonly id: number
  /** Its places in the usage logs. */
  readonly stretches: readonly Stretch[]
  readonly cells: readonly OwnedCell[]
}

interface BatchRow {
  readonly id: number
  readonly logs: number[]
  readonly firsts: number[]
  readonly lasts: number[]
  readonly cells: string
}

/**
 * Records the sums of a batch of receipts in the transaction that books it: one row, which has no other writer.
 * @param places those of the receipts; in each log they follow each other
 */
export async function stageBatch(
  client: Client,
  places: ReadonlyArray<{ readonly log: number; readonly position: number }>,
  receipts: readonly CountedReceipt[],
): Promise<void> {
  if (receipts.length === 0) return
  const stretches = stretchesOf(places)
  await client.query({
    name: 'settlement_statistics',
    text: 'INSERT INTO statistics_batches (logs, firsts, lasts, cells) VALUES ($1, $2, $3, $4)',
    values: [
      intArray(stretches.map(({ log }) => log)),
      intArray(stretches.map(({ from }) => from)),
      intArray(stretches.map(({ to }) => to)),
      JSON.stringify(batchCells(receipts)),
    ],
  })
}

function stretchesOf(places: ReadonlyArray<{ readonly log: number; readonly position: number }>): Stretch[] {
  const stretches = new Map<number, { log: number; from: number; to: number }>()
  for (const { log, position } of places) {
    const known = stretches.get(log)
    if (known === undefined) stretches.set(log, { log, from: position, to: position + 1 })
    else known.to = position + 1
  }
  return [...stretches.values()]
}

/** The first batches that wait to be counted. */
export async function readStaged(client: Client, most: number): Promise<StagedBatch[]> {
  const { rows } = await client.query<BatchRow>(
    `SELECT id, to_json(logs) AS logs, to_json(firsts) AS firsts, to_json(lasts) AS lasts, cells
     FROM statistics_batches ORDER BY id LIMIT $1`,
    [most],
  )
  const batches = rows.map(({ id, logs, firsts, lasts, cells }): StagedBatch => {
    const stretches = logs.map((log, i) => ({ log, from: firsts[i] ?? 0, to: lasts[i] ?? 0 }))
    return { id, stretches, cells: JSON.parse(cells) as OwnedCell[] }
  })
  return batches
}

/** Their cells, with agents as the account that they belong to. */
export async function cellsOf(client: Client, batches: readonly StagedBatch[]): Promise<OwnedCell[]> {
  const cells = batches.flatMap((batch) => batch.cells)
  const ids = [...new Set(cells.flatMap(({ owners }) => owners))]
  const { rows } = await client.query<{ id: string; owner_id: string }>(
    'SELECT account_id AS id, owner_id FROM account_owners WHERE account_id = ANY ($1::text[])',
    [ids],
  )
  const ownerOf = new Map(rows.map(({ id, owner_id: owner }) => [id, owner]))
  return cells.map((cell) => ({ ...cell, owners: [...new Set(cell.owners.map((id) => ownerOf.get(id) ?? id))] }))
}

export async function removeStaged(client: Client, batches: readonly StagedBatch[]): Promise<void> {
  if (batches.length === 0) return
  await client.query('DELETE FROM statistics_batches WHERE id = ANY ($1::bigint[])', [
    intArray(batches.map(({ id }) => id)),
  ])
}
