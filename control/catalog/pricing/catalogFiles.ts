import type { Client, Queryable } from '../../runtime/db/pool.ts'

/** The treatment of the configured file when control starts. */
export type StartChoice =
  /** It is published. */
  | 'publish'
  /** It is published, and replaces a catalog that a command has published. */
  | 'replace'
  /** It is what it was when a command published another one, which stays in force. */
  | 'keep'

/** Notes which file is in force. @param isConfigured whether control itself publishes the file that it is configured with */
export async function noteCatalogFile(client: Client, digest: string, isConfigured: boolean): Promise<void> {
  await client.query(
    `INSERT INTO catalog_files (in_force, configured) VALUES ($1, CASE WHEN $2 THEN $1 END)
     ON CONFLICT (one) DO UPDATE SET in_force = $1, configured = CASE WHEN $2 THEN $1 ELSE catalog_files.configured END`,
    [digest, isConfigured],
  )
}

/** Decides whether control, starting with a file, publishes it. @param digest SHA-256 of the file in hex */
export async function chooseAtStart(db: Queryable, digest: string): Promise<StartChoice> {
  const found = await db.query<{ in_force: string; configured: string | null }>(
    'SELECT in_force, configured FROM catalog_files',
  )
  const row = found.rows[0]
  if (row === undefined || row.in_force === digest || row.in_force === row.configured) return 'publish'
  return row.configured === digest ? 'keep' : 'replace'
}
