import type { Queryable } from '../../../runtime/db/pool.ts'

/** Allows a refund that is not sent a number of further attempts. @returns whether there is one */
export async function allowRefundAttempts(client: Queryable, id: string, attempts: number): Promise<boolean> {
  const raised = await client.query(
    `UPDATE refunds SET attempts_max = attempts + $2, state = 'sending' WHERE id = $1 AND state IN ('sending', 'stuck')`,
    [id, attempts],
  )
  return raised.rowCount === 1
}
