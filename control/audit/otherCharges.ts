import { HOUR_SUM_COLUMNS } from '../book/usage/usageSums.ts'
import { textArray } from '../runtime/db/arrays.ts'
import type { Client } from '../runtime/db/pool.ts'
import { logsFrom, type ReceiptFindings } from './addReceipts.ts'
import type { Faults } from './check.ts'
import type { AuditLimits } from './limits.ts'
import { sidesOf } from './sides.ts'
import { longQuery } from './workspace.ts'

const FAULTS_READ_MAX = 1_000

interface Archived {
  readonly month: string
  readonly from_id: string
  readonly until_id: string
  /** Decimal text: more than a number may hold exactly. */
  readonly charge_units: string
}

const MONTH = `
  SELECT coalesce(sum(units), 0)::text AS units, count(*) AS transfers FROM transfers
  WHERE kind = 'charge' AND ref >= $1 AND ref < $2`

/** Sums that were kept of archived months. */
const KEPT: readonly string[] = [
  'INSERT INTO new_key_usage SELECT key_id, hour, units, requests FROM archived_key_usage',
  `INSERT INTO new_usage_days
   SELECT account_id, day, key_id, model, requests, units, input_tokens, cached_input_tokens, output_tokens
   FROM archived_usage_days`,
  `INSERT INTO new_usage_outcomes
   SELECT account_id, day, model, provider, outcome, requests, units, input_tokens, cached_input_tokens, output_tokens
   FROM archived_usage_outcomes`,
  `INSERT INTO new_usage_hours SELECT hour, provider, model, outcome, ${HOUR_SUM_COLUMNS.join(', ')} FROM archived_usage_hours`,
  `INSERT INTO new_usage_tags
   SELECT account_id, kind, hours, period, value, requests, units, input_tokens, cached_input_tokens, output_tokens
   FROM archived_usage_tags`,
  'INSERT INTO new_referrals SELECT referral_id, units FROM archived_referrals',
]

/**
 * Compares the charges of archived months with the sums that were kept of them.
 * @param known months that were archived before the mark
 * @param isAdded whether to add up the sums of their receipts as well, because no mark contains them
 * @returns the number of their transfers
 */
export async function addArchives(
  client: Client,
  known: readonly string[],
  isAdded: boolean,
  faults: Faults,
  limits: AuditLimits,
): Promise<number> {
  const { rows: months } = await client.query<Archived>(
    `SELECT month, from_id, until_id, charge_units::text AS charge_units FROM receipt_archives WHERE month <> ALL ($1::text[]) ORDER BY month`,
    [textArray([...known])],
  )
  if (isAdded) for (const sql of KEPT) await client.query(longQuery(limits, sql))
  let transfers = 0
  for (const { month, from_id, until_id, charge_units: charged } of months) {
    const found = await client.query<{ units: string; transfers: number }>(
      longQuery(limits, MONTH, [from_id, until_id]),
    )
    const units = found.rows[0]?.units ?? '0'
    transfers += found.rows[0]?.transfers ?? 0
    if (units === charged) continue
    faults.add(`receipts of ${month} that were put away charged ${charged}, their transfers are ${units}`)
  }
  return transfers
}

/** Charges since $1 without a receipt, in the book or archived. */
const STRAYS = `
  SELECT c.ref, c.debit, c.credit, c.units, coalesce(c.coin_nanos, c.units) AS nanos
  FROM transfers c
  LEFT JOIN LATERAL (SELECT 1 AS found FROM receipts r WHERE r.request_id = c.ref LIMIT 1) AS r ON true
  WHERE c.kind = 'charge' AND c.at >= $1::timestamptz AND r.found IS NULL
    AND NOT EXISTS (SELECT FROM receipt_archives a WHERE c.ref >= a.from_id AND c.ref < a.until_id)`

const strays = (adding: string): string => `
  WITH stray AS MATERIALIZED (${STRAYS})${adding}
  SELECT ref, sum(units)::text AS units FROM stray GROUP BY ref LIMIT ${FAULTS_READ_MAX}`
const FIND_STRAYS = strays('')
const ADD_STRAYS = strays(`, charges AS (INSERT INTO new_charges ${sidesOf('stray')})`)

/** Finds charges without a receipt. */
export function findStrays(client: Client, faults: Faults, limits: AuditLimits): Promise<void> {
  return nameStrays(client, FIND_STRAYS, '-infinity', faults, limits)
}

/**
 * Finds charges without a receipt, and adds them up, so that their transfers are not reported as a second fault.
 * @param since the moment from which on charges may be missing from the mark
 */
export function addStrays(client: Client, since: string, faults: Faults, limits: AuditLimits): Promise<void> {
  return nameStrays(client, ADD_STRAYS, since, faults, limits)
}

async function nameStrays(
  client: Client,
  sql: string,
  since: string,
  faults: Faults,
  limits: AuditLimits,
): Promise<void> {
  const found = await client.query<{ ref: string; units: string }>(longQuery(limits, sql, [since]))
  for (const { ref, units } of found.rows) {
    faults.add(`${ref} was charged without a receipt, its transfers are ${units}`)
  }
}

/** In the order of an index, so that nothing is sorted or kept. */
const REPEATED = `SELECT request_id FROM receipts GROUP BY request_id HAVING count(*) > 1 LIMIT ${FAULTS_READ_MAX}`
const REPEATED_SINCE = `
  SELECT r.request_id FROM receipts r CROSS JOIN LATERAL (
    SELECT count(*) AS times FROM receipts o WHERE o.request_id = r.request_id OFFSET 0
  ) AS o
  WHERE r.log = $1 AND r.position >= $2 AND o.times > 1 LIMIT ${FAULTS_READ_MAX}`

/** Finds requests that have several receipts. @param from by log, where to begin; undefined for all */
export async function findRepeated(
  client: Client,
  from: readonly number[] | undefined,
  { ended, receipts, requests }: ReceiptFindings,
  limits: AuditLimits,
): Promise<void> {
  const note = (rows: readonly { request_id: string }[]): void => {
    for (const { request_id } of rows) ended.add(`${request_id} has several receipts`)
  }
  if (from !== undefined) {
    for (const log of await logsFrom(client, from)) {
      note((await client.query<{ request_id: string }>(longQuery(limits, REPEATED_SINCE, [log, from[log] ?? 0]))).rows)
    }
    return
  }
  // Ranges of ids have all receipts of a request, so that they are counted together.
  if (receipts === requests) return
  for (const way of ['hashagg', 'sort', 'seqscan']) await client.query(`SET LOCAL enable_${way} = off`)
  note((await client.query<{ request_id: string }>(longQuery(limits, REPEATED))).rows)
  for (const way of ['hashagg', 'sort', 'seqscan']) await client.query(`SET LOCAL enable_${way} = on`)
}
