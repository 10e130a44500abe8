import { readdir, readFile } from 'node:fs/promises'
import { leafText } from '../../control/book/receipt/generated/receipt.ts'
import type { Entry } from '../../control/book/settlement/entry.ts'
import { leafHash } from '../../control/book/usagelog/merkle.ts'
import { createPool, type Pool } from '../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from './limits.ts'
import { freshDatabase } from './services.ts'

const MIGRATIONS = new URL('../../control/runtime/db/migrations/', import.meta.url)

/** An empty database with the schema as of a migration, such as '0151'. */
export async function oldSchema(last: string): Promise<{ pool: Pool; url: string }> {
  const url = await freshDatabase({ empty: true })
  const pool = createPool(url, limits)
  await pool.query(
    'CREATE TABLE schema_migrations (version integer PRIMARY KEY, name text, applied_at timestamptz DEFAULT now())',
  )
  for (const name of (await readdir(MIGRATIONS)).sort()) {
    if (!name.endsWith('.sql') || name.slice(0, 4) > last) continue
    await pool.query(await readFile(new URL(name, MIGRATIONS), 'utf8'))
    await pool.query('INSERT INTO schema_migrations (version, name) VALUES ($1, $2)', [Number(name.slice(0, 4)), name])
  }
  return { pool, url }
}

/** Entries as they were booked when leaves had their first layout, which is that of all rows from before migration 0190. */
export function inFirstLayout(entries: readonly Entry[]): Entry[] {
  return entries.map((entry) => {
    if (entry.kind !== 'ended') return entry
    const receipt = { ...entry.receipt, leafLayout: 1 }
    return { ...entry, receipt: { ...receipt, leafHash: leafHash(leafText(receipt)) } }
  })
}

interface Column {
  readonly name: string
  readonly isSerial: boolean
}

/**
 * Copies what a database has into an older schema, as far as that has the tables and columns, with no trigger and no
 * foreign key looking on.
 */
export async function copyInto(old: Pool, current: Pool, { except }: { except: readonly string[] }): Promise<void> {
  const client = await old.connect()
  try {
    await client.query('SET session_replication_role = replica')
    const known = await tablesOf(current)
    const { rows } = await client.query<{ id: string }>('SELECT id FROM ledger_accounts')
    for (const table of await tablesOf(old)) {
      if (except.includes(table) || !known.includes(table)) continue
      const columns = await columnsOf(old, table)
      const names = columns.map(({ name }) => `"${name}"`).join(', ')
      const found = await current.query<{ rows: string }>(
        `SELECT coalesce(json_agg(t), '[]')::text AS rows FROM ${table} AS t`,
      )
      await client.query(`DELETE FROM ${table}`)
      await client.query(
        `INSERT INTO ${table} (${names}) OVERRIDING SYSTEM VALUE
         SELECT ${names} FROM json_populate_recordset(NULL::${table}, $1::json)`,
        [found.rows[0]?.rows ?? '[]'],
      )
      for (const { name } of columns.filter(({ isSerial }) => isSerial)) {
        await client.query(`SELECT setval(pg_get_serial_sequence('${table}', '${name}'), max(${name})) FROM ${table}`)
      }
    }
    // Accounts of the gateway that later migrations open.
    await client.query(`DELETE FROM ledger_accounts WHERE kind = 'system' AND balance = 0 AND NOT id = ANY ($1)`, [
      rows.map(({ id }) => id),
    ])
  } finally {
    client.release(true)
  }
}

async function tablesOf(pool: Pool): Promise<string[]> {
  const found = await pool.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name <> 'schema_migrations'`,
  )
  return found.rows.map(({ name }) => name)
}

async function columnsOf(pool: Pool, table: string): Promise<Column[]> {
  const found = await pool.query<Column>(
    `SELECT column_name AS name, pg_get_serial_sequence($1, column_name) IS NOT NULL AS "isSerial"
     FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER'`,
    [table],
  )
  return found.rows
}
