import type { Logger } from 'pino'
import { lastCheckpoint } from '../book/checkpoint/checkpointReads.ts'
import { lastCatalog } from '../catalog/signing/catalogStore.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import { logEvent } from '../runtime/logEvents.ts'
import type { Environment } from './environment.ts'

/**
 * Logs which signing keys are not set. Where the book has something that was signed before, the key was lost rather than left
 * out, which is an error.
 */
export async function logMissingKeys(
  db: Queryable,
  { catalogKey, logKey }: Pick<Environment, 'catalogKey' | 'logKey'>,
  log: Logger,
): Promise<void> {
  if (catalogKey === undefined) {
    const last = await lastCatalog(db)
    if (last === undefined) logEvent(log, 'catalog_unsigned')
    else logEvent(log, 'catalog_key_lost', { signedVersion: last.version })
  }
  if (logKey === undefined) {
    logEvent(log, (await lastCheckpoint(db)) === undefined ? 'usage_log_unsigned' : 'usage_log_key_lost')
  }
}
