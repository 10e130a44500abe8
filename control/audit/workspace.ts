import { locking } from '../runtime/db/lockOrder.ts'
import { type Client, type Pool, withTransaction } from '../runtime/db/pool.ts'
import type { AuditLimits } from './limits.ts'
import { createSums } from './sumTables.ts'

/** Limits for the statements of an audit, which read much more than those of the gateway. */
const SETTINGS: readonly string[] = [
  'SET LOCAL statement_timeout = 0',
  'SET LOCAL idle_in_transaction_session_timeout = 0',
  // Larger sets spill to temporary files: each step of an audit takes no more of the server's memory than this.
  `SET LOCAL work_mem = '32MB'`,
  'SET LOCAL hash_mem_multiplier = 1',
  'SET LOCAL max_parallel_workers_per_gather = 0',
]

/**
 * Runs an audit on one snapshot of the book, with temporary tables for its sums that are dropped with the transaction.
 * @param isMarking makes other audits that leave a mark wait until this one is done
 */
export function inWorkspace<T>(pool: Pool, isMarking: boolean, work: (client: Client) => Promise<T>): Promise<T> {
  return withTransaction(pool, async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
    for (const setting of SETTINGS) await client.query(setting)
    // Before the snapshot is taken, so that it contains the mark of the audit before.
    if (isMarking) {
      locking(client, 'auditMark')
      await client.query('LOCK TABLE audit_mark IN SHARE UPDATE EXCLUSIVE MODE')
    }
    await createSums(client)
    return work(client)
  })
}

/** Names the moment at which a transaction sees the book, for parallel readers while it is open. */
export async function exportSnapshot(client: Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>('SELECT quote_literal(pg_export_snapshot()) AS name')
  return rows[0]?.name ?? ''
}

/**
 * Runs reads of an audit over another connection; they write to temporary tables alone.
 * @param snapshot from exportSnapshot: they see the book at that moment
 */
export function inReader<T>(pool: Pool, snapshot: string, work: (client: Client) => Promise<T>): Promise<T> {
  return withTransaction(pool, async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
    await client.query(`SET TRANSACTION SNAPSHOT ${snapshot}`)
    for (const setting of SETTINGS) await client.query(setting)
    return work(client)
  })
}

/** A statement that may take long: the time after which a silent server is given up is that of an audit. */
export function longQuery(limits: AuditLimits, text: string, values: unknown[] = []) {
  return { text, values, query_timeout: limits.auditStatementMs }
}
