import { readdir, readFile } from 'node:fs/promises'
import { lockUntilCommit } from './locks.ts'
import { type Client, type Pool, withTransaction } from './pool.ts'

const MIGRATIONS = new URL('./migrations/', import.meta.url)
const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/

interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}

async function readMigrations(): Promise<Migration[]> {
  const migrations: Migration[] = []
  for (const name of (await readdir(MIGRATIONS)).sort()) {
    const match = FILE_NAME.exec(name)
    if (match === null) continue
    migrations.push({ version: Number(match[1]), name, sql: await readFile(new URL(name, MIGRATIONS), 'utf8') })
  }
  return migrations
}

async function apply(client: Client, migration: Migration): Promise<boolean> {
  await client.query('SET LOCAL statement_timeout = 0')
  // Held to the end of the transaction, so that each migration runs in only one of several processes that start concurrently.
  await lockUntilCommit(client, 'migration')
  const known = await client.query('SELECT 1 FROM schema_migrations WHERE version = $1', [migration.version])
  if (known.rowCount !== 0) return false
  await client.query(migration.sql)
  await client.query('INSERT INTO schema_migrations (version, name) VALUES ($1, $2)', [
    migration.version,
    migration.name,
  ])
  return true
}

/**
 * Brings the schema of the book up to date: runs the files of `migrations/` that have not run yet, in the order of
 * their numbers, each in its own transaction. Safe to call from several processes concurrently.
 * @returns the names of the files that ran now
 * @throws the error of the database, with the name of the file in its message; earlier files stay applied
 */
export async function migrate(pool: Pool): Promise<string[]> {
  const migrations = await readMigrations()
  const known = await withTransaction(pool, async (client) => {
    await lockUntilCommit(client, 'migration')
    await client.query(`CREATE TABLE IF NOT EXISTS schema_migrations (
      version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`)
    const { rows } = await client.query<{ version: number }>('SELECT version FROM schema_migrations')
    return new Set(rows.map(({ version }) => version))
  })
  const applied: string[] = []
  for (const migration of migrations) {
    if (known.has(migration.version)) continue
    try {
      if (await withTransaction(pool, (client) => apply(client, migration))) applied.push(migration.name)
    } catch (error) {
      throw new Error(`migration ${migration.name} failed: ${(error as Error).message}`, { cause: error })
    }
  }
  return applied
}
