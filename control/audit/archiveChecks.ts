import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Client } from '../runtime/db/pool.ts'
import { type AuditCheck, Faults } from './check.ts'

/**
 * Compares the files of archived months with their digests in the book.
 * @param dir the folder of the archives; files that it does not have are elsewhere, and not compared
 */
export async function checkArchiveFiles(client: Client, dir: string): Promise<AuditCheck[]> {
  const faults = new Faults()
  const { rows } = await client.query<{ month: string; file: string; sha256: string }>(
    'SELECT month, file, sha256 FROM receipt_archives ORDER BY month',
  )
  let read = 0
  for (const { month, file, sha256 } of rows) {
    const path = join(dir, file)
    if (!(await isFile(path))) continue
    read++
    const found = await digestOf(path)
    if (found !== sha256) faults.add(`${path} of ${month} has the SHA-256 ${found}, the book ${sha256}`)
  }
  return [faults.check('archives of receipts have their digests', `${read} of ${rows.length} files, in ${dir}`)]
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
