import { DAY_MS } from '../../../contract/api/time.ts'
import { intArray, textArray } from '../../runtime/db/arrays.ts'
import { lockUntilCommit } from '../../runtime/db/locks.ts'
import { type Client, type Pool, withTransaction } from '../../runtime/db/pool.ts'
import type { BookLimits } from '../limits.ts'
import { firstOf, type Stretch, sizeOf } from '../usagelog/stretches.ts'
import { CELL_COLUMNS, type Cell, type CellRow, cellOfRow, FIGURES, type OwnedCell, together } from './cell.ts'
import { freshReceipts } from './freshReceipts.ts'
import { release } from './release.ts'
import { cellsOf, readStaged, removeStaged, type StagedBatch } from './stagedBatches.ts'
import { addHourCells, addHoursOf, catchUpHours } from './usageHours.ts'
import { addUsageTags } from './usageTags.ts'

/** The receipts that are counted in one step. */
interface Step {
  readonly batches: readonly StagedBatch[]
  /** Places without a batch. */
  readonly gaps: readonly Stretch[]
  /** The position up to which each log is counted then. */
  readonly cursors: ReadonlyMap<number, number>
  /** There is more to count. */
  readonly isMore: boolean
}

/**
 * Counts the next receipts for the public statistics, and publishes the cells that may be published, and adds them to the usage by
 * tag and user and to that by hour. The same transaction advances the cursors of the usage logs, so that every receipt counts exactly once, even if it was booked late, and even if
 * processes count concurrently or crash.
 * @param nowMs milliseconds since 1970
 * @returns whether there is more to count
 */
export function countReceipts(pool: Pool, limits: BookLimits, nowMs: number = Date.now()): Promise<boolean> {
  return withTransaction(pool, async (client) => {
    await lockUntilCommit(client, 'statistics')
    // From here on the usage by hour has the receipts that the statistics have.
    if (await catchUpHours(client, limits.statisticsReceiptsMax)) return true
    const step = await nextStep(client, limits)
    const waiting = await readWaiting(client)
    const fresh = [
      ...(await freshReceipts(client, step.gaps, limits.statsAccountsMin)),
      ...(await cellsOf(client, step.batches)),
    ]
    const openDay = Math.floor((nowMs - limits.statisticsFoldMs) / DAY_MS)
    const released = release([...waiting, ...fresh], openDay, limits.statsAccountsMin)
    await publish(client, released.published)
    if (fresh.length > 0 || released.published.length > 0) await keepWaiting(client, released.waiting)
    // Only the sums of batches: what the versions before have booked without them has no tags.
    await addUsageTags(
      client,
      step.batches.flatMap(({ tags }) => tags),
      limits.usageTagsMax,
    )
    await addHourCells(
      client,
      step.batches.flatMap(({ hours }) => hours ?? []),
    )
    await addHoursOf(client, [
      ...step.gaps,
      ...step.batches.filter(({ hours }) => hours === undefined).flatMap(({ stretches }) => stretches),
    ])
    await removeStaged(client, step.batches)
    await advance(client, step.cursors)
    return step.isMore
  })
}

/** The parts of the usage logs that are not counted yet. */
async function readUncounted(client: Pick<Client, 'query'>): Promise<Stretch[]> {
  const found = await client.query<Stretch>(
    `SELECT log, c.position AS "from", h.size AS "to" FROM statistics_cursors c JOIN usage_log_heads h USING (log)
     WHERE h.size > c.position ORDER BY log`,
  )
  return found.rows
}

/**
 * The next batches, and the places before them without a batch. A log is locked while it is booked, so that a transaction that
 * sees a batch sees all before it in its logs, and the batches of a log are in the order of its places. Where too many places have
 * no batch, the step ends before those: a cursor never passes a batch that is not counted.
 */
async function nextStep(client: Client, limits: BookLimits): Promise<Step> {
  const uncounted = await readUncounted(client)
  // Read later than the heads, so that no place before those is missed.
  const { batches, isMore } = await readStaged(client, limits)
  const { rows } = await client.query<{ log: number; position: number }>('SELECT log, position FROM statistics_cursors')
  const cursors = new Map(rows.map(({ log, position }) => [log, position]))
  const taken: StagedBatch[] = []
  const gaps: Stretch[] = []
  // After the last batch of all there are only places without a batch.
  const ends = isMore ? [] : [{ stretches: uncounted.map(({ log, to }) => ({ log, from: to, to })) }]
  for (const part of [...batches, ...ends]) {
    const before = gapsBefore(part.stretches, cursors)
    if (sizeOf(gaps) + sizeOf(before) > limits.statisticsReceiptsMax) {
      if (taken.length > 0) return { batches: taken, gaps, cursors, isMore: true }
      return gapsAlone(before, limits)
    }
    gaps.push(...before)
    for (const { log, to } of part.stretches) cursors.set(log, Math.max(cursors.get(log) ?? 0, to))
    if ('id' in part) taken.push(part)
  }
  return { batches: taken, gaps, cursors, isMore }
}

/** The places between the cursors of logs and stretches, each of another log. */
function gapsBefore(stretches: readonly Stretch[], cursors: ReadonlyMap<number, number>): Stretch[] {
  return stretches.flatMap(({ log, from }) => {
    const counted = cursors.get(log) ?? 0
    return from > counted ? [{ log, from: counted, to: from }] : []
  })
}

/** When too many places have no batch, some of them are a step of their own. */
function gapsAlone(gaps: readonly Stretch[], limits: BookLimits): Step {
  const first = firstOf(gaps, limits.statisticsReceiptsMax)
  return { batches: [], gaps: first, cursors: new Map(first.map(({ log, to }) => [log, to])), isMore: true }
}

async function readWaiting(client: Client): Promise<OwnedCell[]> {
  const found = await client.query<CellRow<OwnedCell>>(
    `SELECT ${CELL_COLUMNS}, owners FROM waiting_statistics ORDER BY day, model`,
  )
  return found.rows.map(cellOfRow)
}

const CHANGES = [...FIGURES, 'durations', 'first_tokens'].map((name) => `${name} = excluded.${name}`).join(', ')

/** Adds to the public statistics, which have no other writer meanwhile. */
async function publish(client: Client, cells: readonly Cell[]): Promise<void> {
  if (cells.length === 0) return
  const found = await client.query<CellRow>(
    `SELECT ${CELL_COLUMNS} FROM public_statistics JOIN unnest($1::integer[], $2::text[]) AS k (day, model) USING (day, model)`,
    [intArray(cells.map(({ day }) => day)), textArray(cells.map(({ model }) => model))],
  )
  const nameOf = ({ day, model }: Cell): string => `${day} ${model}`
  const known = new Map(found.rows.map(cellOfRow).map((cell) => [nameOf(cell), cell]))
  const sums = cells.map((cell) => {
    const before = known.get(nameOf(cell))
    return before === undefined ? cell : together(cell, before, cell)
  })
  await client.query(
    `INSERT INTO public_statistics (${CELL_COLUMNS})
     SELECT ${CELL_COLUMNS} FROM json_populate_recordset(NULL::public_statistics, $1::json)
     ON CONFLICT (day, model) DO UPDATE SET ${CHANGES}`,
    [JSON.stringify(sums)],
  )
}

async function keepWaiting(client: Client, cells: readonly OwnedCell[]): Promise<void> {
  await client.query('DELETE FROM waiting_statistics')
  if (cells.length === 0) return
  await client.query(
    `INSERT INTO waiting_statistics (${CELL_COLUMNS}, owners)
     SELECT ${CELL_COLUMNS}, owners FROM json_populate_recordset(NULL::waiting_statistics, $1::json)`,
    [JSON.stringify(cells)],
  )
}

async function advance(client: Client, cursors: ReadonlyMap<number, number>): Promise<void> {
  await client.query(
    `UPDATE statistics_cursors c SET position = s.position, hours_position = s.position
     FROM unnest($1::smallint[], $2::bigint[]) AS s (log, position) WHERE c.log = s.log AND c.position < s.position`,
    [intArray([...cursors.keys()]), intArray([...cursors.values()])],
  )
}
