import { intArray } from '../../runtime/db/arrays.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { BookLimits } from '../limits.ts'
import type { Stretch } from '../usagelog/stretches.ts'
import { batchCells, type CountedReceipt } from './batchCells.ts'
import type { OwnedCell } from './cell.ts'
import { type HourCell, type HourlyReceipt, hourCells } from './usageHours.ts'
import { type TagCell, type TaggedReceipt, tagCells } from './usageTags.ts'

/** The receipts that were booked in one transaction. */
export interface StagedBatch {
  readonly id: number
  /** Its places in the usage logs. */
  readonly stretches: readonly Stretch[]
  readonly cells: readonly OwnedCell[]
  readonly tags: readonly TagCell[]
  /** Undefined where a version before has booked the batch. */
  readonly hours: readonly HourCell[] | undefined
}

interface BatchRow {
  readonly id: number
  readonly logs: number[]
  readonly firsts: number[]
  readonly lasts: number[]
  readonly cells: string
  readonly tags: string
  readonly hours: string | null
  readonly waiting: number
}

/**
 * Records the sums of a batch of receipts in the transaction that books it: one row, which has no other writer.
 * @param places those of the receipts; in each log they follow each other
 */
export async function stageBatch(
  client: Client,
  places: ReadonlyArray<{ readonly log: number; readonly position: number }>,
  receipts: readonly (CountedReceipt & TaggedReceipt & HourlyReceipt)[],
): Promise<void> {
  if (receipts.length === 0) return
  const stretches = stretchesOf(places)
  await client.query({
    name: 'settlement_statistics',
    text: 'INSERT INTO statistics_batches (logs, firsts, lasts, cells, tags, hours) VALUES ($1, $2, $3, $4, $5, $6)',
    values: [
      intArray(stretches.map(({ log }) => log)),
      intArray(stretches.map(({ from }) => from)),
      intArray(stretches.map(({ to }) => to)),
      JSON.stringify(batchCells(receipts)),
      JSON.stringify(tagCells(receipts)),
      JSON.stringify(hourCells(receipts)),
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

/** The first rows, of which the tags of all but the first are within $2 bytes together; these are known without reading them. */
const FIRST = `
  SELECT id, to_json(logs) AS logs, to_json(firsts) AS firsts, to_json(lasts) AS lasts, cells, tags, hours, waiting FROM (
    SELECT *, row_number() OVER (ORDER BY id) AS nth, sum(octet_length(tags)) OVER (ORDER BY id) AS bytes, count(*) OVER () AS waiting
    FROM (SELECT * FROM statistics_batches ORDER BY id LIMIT $1) AS first
  ) AS sized WHERE nth = 1 OR bytes <= $2 ORDER BY id`

/** The first batches that wait to be counted, and whether there may be more. */
export async function readStaged(
  client: Client,
  { statisticsBatchesMax, statisticsTagBytesMax }: BookLimits,
): Promise<{ readonly batches: readonly StagedBatch[]; readonly isMore: boolean }> {
  const { rows } = await client.query<BatchRow>(FIRST, [statisticsBatchesMax, statisticsTagBytesMax])
  const batches = rows.map(({ id, logs, firsts, lasts, cells, tags, hours }): StagedBatch => {
    const stretches = logs.map((log, i) => ({ log, from: firsts[i] ?? 0, to: lasts[i] ?? 0 }))
    return {
      id,
      stretches,
      cells: JSON.parse(cells) as OwnedCell[],
      tags: JSON.parse(tags) as TagCell[],
      hours: hours === null ? undefined : (JSON.parse(hours) as HourCell[]),
    }
  })
  const waiting = rows[0]?.waiting ?? 0
  return { batches, isMore: waiting === statisticsBatchesMax || rows.length < waiting }
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
