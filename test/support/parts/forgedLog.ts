import { Frontier } from '../../../control/book/usagelog/frontier.ts'
import { type Pool, withTransaction } from '../../../control/runtime/db/pool.ts'

/** SQL and its values. */
export type Statement = readonly [sql: string, values: readonly unknown[]]

/** Runs statements with all triggers off, as someone who tampers with the files would. */
export async function tamperWith(pool: Pool, ...statements: readonly Statement[]): Promise<void> {
  await withTransaction(pool, async (client) => {
    await client.query('SET LOCAL session_replication_role = replica')
    for (const [sql, values] of statements) await client.query(sql, [...values])
  })
}

/**
 * Writes nodes and head of a usage log anew after its leaves, so that nothing tells that they were others.
 * @param signed whether the heads that were signed are written anew as well
 */
export async function makeLogFit(pool: Pool, log: number, signed: boolean): Promise<void> {
  const found = await pool.query<{ leaf_hash: Buffer }>(
    'SELECT leaf_hash FROM receipts WHERE log = $1 ORDER BY position',
    [log],
  )
  const frontier = new Frontier(0, Buffer.alloc(0))
  const statements: Statement[] = []
  for (const { leaf_hash: leaf } of found.rows) {
    for (const { level, index, hash } of frontier.append(leaf)) {
      const sql = 'UPDATE usage_log_nodes SET hash = $1 WHERE log = $2 AND level = $3 AND index = $4'
      statements.push([sql, [hash, log, level, index]])
    }
    const values = [frontier.root(), log, frontier.size]
    if (signed) statements.push(['UPDATE log_heads SET root = $1 WHERE log = $2 AND size = $3', values])
  }
  const { size } = frontier
  await tamperWith(
    pool,
    ...statements,
    ['UPDATE usage_log_heads SET size = $1, peaks = $2 WHERE log = $3', [size, frontier.peaks(), log]],
    ['DELETE FROM usage_log_nodes WHERE log = $1 AND (index + 1) * (2::bigint ^ level) > $2', [log, size]],
    ...(signed ? [['DELETE FROM log_heads WHERE log = $1 AND size > $2', [log, size]] as const] : []),
  )
}
