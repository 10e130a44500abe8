import type { Client } from '../runtime/db/pool.ts'
import type { AuditCheck } from './check.ts'

/** The result of a check that ended with an error: broken, with the reason. */
export function broken(name: string, error: unknown): AuditCheck {
  const reason = error instanceof Error ? error.message : String(error)
  return { name, ok: false, detail: `could not be checked: ${reason.split('\n')[0]}` }
}

/** Checks that end with an error are reported as one that is broken, so that the audit goes on with the others. */
export async function attempt(name: string, work: () => Promise<AuditCheck[]>): Promise<AuditCheck[]> {
  try {
    return await work()
  } catch (error) {
    return [broken(name, error)]
  }
}

/**
 * Does work inside a transaction, which goes on without what the work wrote before its error.
 * @param otherwise makes the result of an error
 * @throws the error of a connection that is lost
 */
export async function attemptIn<T>(
  client: Client,
  work: () => Promise<T>,
  otherwise: (error: unknown) => T,
): Promise<T> {
  // The first statements of the work are sent with the savepoint: an audit has hundreds of them, each a round trip.
  const [saved, done] = await Promise.allSettled([client.query('SAVEPOINT audit_check'), work()])
  if (saved.status === 'rejected') throw saved.reason
  try {
    if (done.status === 'rejected') throw done.reason
    // It fails where the work has not reported the error of one of its statements.
    await client.query('RELEASE SAVEPOINT audit_check')
    return done.value
  } catch (error) {
    await client.query('ROLLBACK TO SAVEPOINT audit_check')
    await client.query('RELEASE SAVEPOINT audit_check')
    return otherwise(error)
  }
}
