import type { Caller } from '../../api/call.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { sessionOf } from './sessions.ts'

/**
 * The caller of the account API that sends a session.
 * @param sessionHash as from `hashSecret`
 * @returns undefined for a session that is not in force
 */
export async function sessionCaller(db: Queryable, sessionHash: string): Promise<Caller | undefined> {
  const session = await sessionOf(db, sessionHash)
  if (session === undefined) return undefined
  return { kind: 'session', sessionId: session.id, address: session.address, accountId: session.accountId }
}
