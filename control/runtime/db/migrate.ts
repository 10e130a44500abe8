import { readdir, readFile } from 'node:fs/promises'
import { lockUntilCommit } from './locks.ts'
import { type Client, type Pool, withTransaction } from './pool.ts'

const FOLDER = new URL('./schema/', import.meta.url)
const ROOM_FILE = /^\d{2}_[a-z0-9_]+\.sql$/
const MIGRATION_FILE = /^(\d{4})_[a-z0-9_]+\.sql$/

/** The migration that the files by room stand for: a book that has it and all before it has their schema. */
const SCHEMA_VERSION = 480
const SCHEMA_NAME = '0480_schema'
/** How many migrations there were up to then; versions before the first release applied them one by one. */
const EARLIER_MIGRATIONS = 76

interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}

/** The schema, and the migrations since then in the order of their numbers. */
async function readMigrations(): Promise<[Migration, ...Migration[]]> {
  const rooms: string[] = []
  const migrations: Migration[] = []
  for (const name of (await readdir(FOLDER)).sort()) {
    const sql = () => readFile(new URL(name, FOLDER), 'utf8')
    const match = MIGRATION_FILE.exec(name)
    if (match !== null) migrations.push({ version: Number(match[1]), name, sql: await sql() })
    else if (ROOM_FILE.test(name)) rooms.push(await sql())
  }
  return [{ version: SCHEMA_VERSION, name: SCHEMA_NAME, sql: rooms.join('\n') }, ...migrations]
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

/** Marks a book that has all earlier migrations as one of this schema; their rows stay, since the audit reads when they ran. */
async function convert(client: Client): Promise<void> {
  const { rows } = await client.query<{ version: number; name: string }>(
    'SELECT version, name FROM schema_migrations WHERE version <= $1 ORDER BY version',
    [SCHEMA_VERSION],
  )
  const last = rows.at(-1)
  if (last === undefined || last.name === SCHEMA_NAME) return
  if (last.version !== SCHEMA_VERSION || rows.length !== EARLIER_MIGRATIONS) {
    throw new Error(
      `the book is at migration ${last.name}, which is before this version's schema (${SCHEMA_VERSION}): start control of a ` +
        'version that has the migration 0480_read_from_below.sql once, which updates the book, and then this version',
    )
  }
  await client.query('UPDATE schema_migrations SET name = $2 WHERE version = $1', [SCHEMA_VERSION, SCHEMA_NAME])
}

/**
 * Brings the schema of the book up to date: an empty database gets the schema, and each book the migrations that it does not
 * have yet, in the order of their numbers, each in its own transaction. Safe to call from several processes concurrently.
 * @returns the names of what was applied now
 * @throws the error of the database, with the name of the file in its message; earlier files stay applied
 */
export async function migrate(pool: Pool): Promise<string[]> {
  const migrations = await readMigrations()
  const known = await withTransaction(pool, async (client) => {
    await lockUntilCommit(client, 'migration')
    await client.query(`CREATE TABLE IF NOT EXISTS schema_migrations (
      version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`)
    await convert(client)
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
