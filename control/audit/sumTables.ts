import { createHash } from 'node:crypto'
import { HOUR_SUM_COLUMNS, SUM_COLUMNS } from '../book/usage/usageSums.ts'
import type { Client } from '../runtime/db/pool.ts'
import type { AuditLimits } from './limits.ts'

/** A table of sums over receipts: `audited_NAME` has those up to the mark, `new_NAME` those of the running audit. */
interface SumTable {
  readonly name: SumName
  readonly keys: readonly string[]
  readonly sums: readonly string[]
}

export type SumName =
  | 'charges'
  | 'key_usage'
  | 'usage_days'
  | 'usage_outcomes'
  | 'usage_hours'
  | 'usage_tags'
  | 'referrals'

const SUM_TABLES: readonly SumTable[] = [
  { name: 'charges', keys: ['account', 'currency'], sums: ['amount'] },
  { name: 'key_usage', keys: ['key_id', 'hour'], sums: ['units', 'requests'] },
  {
    name: 'usage_days',
    keys: ['account_id', 'day', 'key_id', 'model'],
    sums: SUM_COLUMNS,
  },
  {
    name: 'usage_outcomes',
    keys: ['account_id', 'day', 'model', 'provider', 'outcome'],
    sums: SUM_COLUMNS,
  },
  {
    name: 'usage_hours',
    keys: ['hour', 'provider', 'model', 'outcome'],
    sums: HOUR_SUM_COLUMNS,
  },
  {
    name: 'usage_tags',
    keys: ['account_id', 'kind', 'hours', 'period', 'value'],
    sums: SUM_COLUMNS,
  },
  { name: 'referrals', keys: ['referral_id'], sums: ['units'] },
]

/** Makes the tables for the sums of an audit, which are dropped with its transaction. */
export async function createSums(client: Client): Promise<void> {
  await client.query('SET LOCAL client_min_messages = warning')
  for (const { name } of SUM_TABLES) {
    await client.query(`CREATE TEMP TABLE new_${name} (LIKE audited_${name}) ON COMMIT DROP`)
  }
}

/** Lets the planner know how much was added up. */
export async function analyzeSums(client: Client): Promise<void> {
  for (const { name } of SUM_TABLES) await client.query(`ANALYZE new_${name}`)
}

/**
 * SQL of the sums over all receipts, as a table that may have several rows of one key.
 * @param isSinceMark whether the mark contains the sums up to it
 */
export function sumsOf(name: SumName, isSinceMark: boolean): string {
  const { keys, sums } = tableOf(name)
  const columns = [...keys, ...sums].join(', ')
  const fresh = `SELECT ${columns} FROM new_${name}`
  return isSinceMark ? `(SELECT ${columns} FROM audited_${name} UNION ALL ${fresh})` : `(${fresh})`
}

/** Puts the sums of this audit into those of the mark, or in their place. */
export async function keepSums(client: Client, isSinceMark: boolean): Promise<void> {
  for (const { name, keys, sums } of SUM_TABLES) {
    if (!isSinceMark) await client.query(`TRUNCATE audited_${name}`)
    const columns = [...keys, ...sums].join(', ')
    const added = sums.map((column) => `sum(${column})`).join(', ')
    const changes = sums.map((column) => `${column} = a.${column} + excluded.${column}`).join(', ')
    // Sorted, so that the index grows at its end.
    await client.query({
      text: `INSERT INTO audited_${name} AS a (${columns})
        SELECT ${keys.join(', ')}, ${added} FROM new_${name} GROUP BY ${keys.join(', ')} ORDER BY ${keys.join(', ')}
        ON CONFLICT (${keys.join(', ')}) DO UPDATE SET ${changes}`,
    })
  }
}

/** A hash of all sums of the mark, in the order of their keys, read in pages. @returns hex */
export async function digestSums(client: Client, limits: AuditLimits): Promise<string> {
  const digest = createHash('sha256')
  for (const { name, keys, sums } of SUM_TABLES) {
    digest.update(`${name}\n`)
    const page = pageOf(name, keys, sums, limits.auditDigestRows)
    for (let last: unknown[] = []; ; ) {
      const { rows } = await client.query<{ hash: Buffer | null; last: unknown[] }>(page(last.length > 0), last)
      if (rows[0]?.hash == null) break
      digest.update(rows[0].hash)
      last = rows[0].last
    }
  }
  return digest.digest('hex')
}

/** SQL that hashes the next rows and names the last of them. */
function pageOf(name: string, keys: readonly string[], sums: readonly string[], rows: number) {
  const order = keys.join(', ')
  const backwards = keys.map((key) => `${key} DESC`).join(', ')
  return (isLater: boolean): string => `
    WITH page AS MATERIALIZED (
      SELECT ${order}, json_build_array(${[...keys, ...sums].join(', ')})::text AS line FROM audited_${name}
      ${isLater ? `WHERE (${order}) > (${keys.map((_, i) => `$${i + 1}`).join(', ')})` : ''}
      ORDER BY ${order} LIMIT ${rows}
    )
    SELECT sha256(convert_to(string_agg(line, E'\\n' ORDER BY ${order}), 'UTF8')) AS hash,
      (SELECT json_build_array(${order}) FROM page ORDER BY ${backwards} LIMIT 1) AS last
    FROM page`
}

function tableOf(name: SumName): SumTable {
  const table = SUM_TABLES.find((each) => each.name === name)
  if (table === undefined) throw new Error(`there are no sums of ${name}`)
  return table
}
