import { HOUR_MS } from '../../../contract/api/time.ts'
import { intArray, textArray } from '../../runtime/db/arrays.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { Receipt } from '../receipt/generated/receipt.ts'
import { hourSumsOf } from '../usage/receiptSums.ts'
import { HOUR_SUM_COLUMNS } from '../usage/usageSums.ts'
import { firstOf, STRETCH_RECEIPTS, type Stretch, sizeOf, stretchArrays } from '../usagelog/stretches.ts'
import { type SummedReceipt, type Sums, SumsByKey } from './sumsByKey.ts'

/** In the order of HOUR_SUM_COLUMNS. */
type HourSums = readonly [...Sums, number, number]

/** Sums of a batch: by hour since 1970, provider, model and outcome. */
export type HourCell = readonly [number, string, string, string, ...HourSums]

/** The part of a receipt that is added up by hour. */
export type HourlyReceipt = SummedReceipt &
  Pick<Receipt, 'provider' | 'model' | 'status' | 'errorCode' | 'reasoningTokens'>

type Building = [number, string, string, string, number, number, number, number, number, number, number]

/** As hourSumsOf adds up the rows of receipts. Booking waits for it, so that no receipt makes an object of its own. */
export function hourCells(receipts: readonly HourlyReceipt[]): HourCell[] {
  const cells = new Map<string, Building>()
  for (const receipt of receipts) {
    const { provider, model, status, errorCode, cachedInputTokens } = receipt
    const hour = Math.floor(receipt.heldAtMs / HOUR_MS)
    const outcome = errorCode === '' ? status : errorCode
    const name = `${hour}\n${provider}\n${model}\n${outcome}`
    let cell = cells.get(name)
    if (cell === undefined) {
      cell = [hour, provider, model, outcome, 0, 0, 0, 0, 0, 0, 0]
      cells.set(name, cell)
    }
    const written = receipt.cacheWrite5mTokens + receipt.cacheWrite1hTokens
    cell[4]++
    cell[5] += receipt.chargeUnits
    cell[6] += receipt.inputTokens + cachedInputTokens + written
    cell[7] += cachedInputTokens
    cell[8] += receipt.outputTokens
    cell[9] += written
    cell[10] += receipt.reasoningTokens
  }
  return [...cells.values()]
}

const KEYS = 'hour, provider, model, outcome'
const COLUMNS = `${KEYS}, ${HOUR_SUM_COLUMNS.join(', ')}`

/** Sorted, so that the index grows at its end. One process counts at a time, so that no row has another writer. */
const addSql = (rows: string): string => `
  INSERT INTO usage_hours AS u (${COLUMNS}) SELECT * FROM ${rows} ORDER BY ${KEYS}
  ON CONFLICT (${KEYS}) DO UPDATE SET ${HOUR_SUM_COLUMNS.map((name) => `${name} = u.${name} + excluded.${name}`).join(', ')}`

const ADD_CELLS =
  addSql(`unnest($1::integer[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::bigint[], $10::bigint[], $11::bigint[]) AS g (${COLUMNS})`)
const ADD_RECEIPTS = addSql(`(${hourSumsOf(STRETCH_RECEIPTS)}) AS fresh`)

/** Adds batches to the usage by hour, in one statement. */
export async function addHourCells(client: Client, cells: readonly HourCell[]): Promise<void> {
  if (cells.length === 0) return
  const sums = new SumsByKey<readonly [number, string, string, string], HourSums>()
  for (const [hour, provider, model, outcome, ...added] of cells) sums.add([hour, provider, model, outcome], added)
  const { rows } = sums
  const figures = HOUR_SUM_COLUMNS.map((_, i) => intArray(rows.map((row) => Number(row[4 + i]))))
  await client.query({
    name: 'statistics_usage_hours',
    text: ADD_CELLS,
    values: [
      intArray(rows.map((row) => row[0])),
      textArray(rows.map((row) => row[1])),
      textArray(rows.map((row) => row[2])),
      textArray(rows.map((row) => row[3])),
      ...figures,
    ],
  })
}

/** Adds the receipts of stretches to the usage by hour, from the book. */
export async function addHoursOf(client: Client, stretches: readonly Stretch[]): Promise<void> {
  if (stretches.length === 0) return
  await client.query({ name: 'statistics_hours_of', text: ADD_RECEIPTS, values: stretchArrays(stretches) })
}

/**
 * Adds receipts that the statistics have counted and the usage by hour has not: those from before there was this table, and those
 * that a control of the version before has counted.
 * @param most receipts that are added in one step
 * @returns whether there were any
 */
export async function catchUpHours(client: Client, most: number): Promise<boolean> {
  const { rows } = await client.query<Stretch>(
    `SELECT log, hours_position AS "from", position AS "to" FROM statistics_cursors WHERE hours_position < position ORDER BY log`,
  )
  if (sizeOf(rows) === 0) return false
  const stretches = firstOf(rows, most)
  await addHoursOf(client, stretches)
  await client.query(
    `UPDATE statistics_cursors c SET hours_position = s.position
     FROM unnest($1::smallint[], $2::bigint[]) AS s (log, position) WHERE c.log = s.log`,
    [intArray(stretches.map(({ log }) => log)), intArray(stretches.map(({ to }) => to))],
  )
  return true
}
