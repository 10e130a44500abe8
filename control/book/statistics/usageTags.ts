import { HOUR_MS } from '../../../contract/api/time.ts'
import { tagsIn } from '../../../contract/money/tags.ts'
import { intArray, textArray } from '../../runtime/db/arrays.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { Receipt } from '../receipt/generated/receipt.ts'
import { TAG_CHARACTERS_MAX } from '../usage/receiptSums.ts'
import { SUM_COLUMNS } from '../usage/usageSums.ts'
import { PERIODS, type SummedReceipt, type Sums, SumsByKey, sumsOf } from './sumsByKey.ts'

type Kind = 'tag' | 'user'

/** Sums of a batch: of an account by tag or user, hour since 1970, and value. */
export type TagCell = readonly [string, Kind, number, string, ...Sums]

/** The part of a receipt that is added up by tag and user. */
export type TaggedReceipt = SummedReceipt & Pick<Receipt, 'accountId' | 'endUser' | 'tags' | 'tagsHash'>

/** Receipts of one hour with the same user and tags are added up first, so that the texts are taken apart once. */
export function tagCells(receipts: readonly TaggedReceipt[]): TagCell[] {
  const alike = new SumsByKey<readonly [string, number, string, string]>()
  for (const receipt of receipts) {
    if (receipt.tagsHash === '') continue
    const { accountId, endUser, tags, heldAtMs } = receipt
    alike.add([accountId, Math.floor(heldAtMs / HOUR_MS), endUser, tags], sumsOf(receipt))
  }
  const cells = new SumsByKey<readonly [string, Kind, number, string]>()
  for (const [accountId, hour, endUser, tags, ...sums] of alike.rows) {
    if (endUser !== '') cells.add([accountId, 'user', hour, stored(endUser)], sums)
    for (const tag of tagsIn(tags)) cells.add([accountId, 'tag', hour, stored(tag)], sums)
  }
  return cells.rows
}

const stored = (value: string): string => value.slice(0, TAG_CHARACTERS_MAX)

const KEYS = 'account_id, kind, hours, period'
const SUMS: readonly string[] = SUM_COLUMNS

/**
 * A value that has no row yet gets one while the period has fewer than $11 of them and none for the others. One process counts
 * at a time, so that the rows that are counted do not change meanwhile.
 */
const UPSERT = `
  WITH given AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::smallint[], $4::integer[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[],
      $9::bigint[], $10::bigint[]) WITH ORDINALITY AS g (${KEYS}, value, ${SUMS.join(', ')}, place)
  ), periods AS (
    SELECT p.*, held.named, held.is_full FROM (SELECT DISTINCT ${KEYS} FROM given) AS p CROSS JOIN LATERAL (
      SELECT count(*) AS named, coalesce(bool_or(u.value = ''), false) AS is_full FROM usage_tags u
      WHERE u.account_id = p.account_id AND u.kind = p.kind AND u.hours = p.hours AND u.period = p.period
    ) AS held
  ), placed AS (
    SELECT g.*, u.requests IS NOT NULL AS is_known,
      row_number() OVER (PARTITION BY g.account_id, g.kind, g.hours, g.period, u.requests IS NULL ORDER BY g.place) AS nth
    FROM given g LEFT JOIN usage_tags u ON u.account_id = g.account_id AND u.kind = g.kind AND u.hours = g.hours
      AND u.period = g.period AND u.value = g.value
  )
  INSERT INTO usage_tags AS u (${KEYS}, value, ${SUMS.join(', ')})
  SELECT ${KEYS}, CASE WHEN is_known OR (NOT is_full AND named + nth <= $11) THEN value ELSE '' END,
    ${SUMS.map((name) => `sum(${name})::bigint`).join(', ')}
  FROM placed JOIN periods USING (${KEYS}) GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
  ON CONFLICT (${KEYS}, value) DO UPDATE SET ${SUMS.map((name) => `${name} = u.${name} + excluded.${name}`).join(', ')}`

/**
 * Adds batches to the usage by tag and user, by hour and by day of the hold, in one statement; most batches have none.
 * @param cells in the order in which they were booked
 * @param valuesMax how many values of an account have sums of their own in a period
 */
export async function addUsageTags(client: Client, cells: readonly TagCell[], valuesMax: number): Promise<void> {
  if (cells.length === 0) return
  const periods = new SumsByKey<readonly [string, Kind, number, number, string]>()
  for (const [accountId, kind, hour, value, ...sums] of cells) {
    for (const hours of PERIODS) periods.add([accountId, kind, hours, Math.floor(hour / hours), value], sums)
  }
  const { rows } = periods
  await client.query({
    name: 'statistics_usage_tags',
    text: UPSERT,
    values: [
      textArray(rows.map((row) => row[0])),
      textArray(rows.map((row) => row[1])),
      intArray(rows.map((row) => row[2])),
      intArray(rows.map((row) => row[3])),
      textArray(rows.map((row) => row[4])),
      intArray(rows.map((row) => row[5])),
      intArray(rows.map((row) => row[6])),
      intArray(rows.map((row) => row[7])),
      intArray(rows.map((row) => row[8])),
      intArray(rows.map((row) => row[9])),
      valuesMax,
    ],
  })
}
