import { type Client, type Pool, withTransaction } from './pool.ts'

/** Takes back what was done outside of the database for a transaction that did not commit. Safe to call at any time. */
export type Undo = () => Promise<unknown>

/** A transaction whose work has effects outside of the database as well. */
export interface UndoableTransaction {
  readonly client: Client
  /** To be called before the effect, whose own outcome may stay unknown. */
  onRollback(undo: Undo): void
}

/**
 * Runs `work` in one transaction and commits it. When this rejects, everything that asked for it is undone; an undoing
 * has to find out by itself whether the transaction has committed after all (connection lost at the commit).
 * @param onFault told of an undoing that failed
 */
export async function withUndo<T>(
  pool: Pool,
  onFault: (error: unknown) => void,
  work: (transaction: UndoableTransaction) => Promise<T>,
): Promise<T> {
  const undos: Undo[] = []
  try {
    return await withTransaction(pool, (client) => work({ client, onRollback: (undo) => undos.push(undo) }))
  } catch (error) {
    for (const undo of undos) await undo().catch(onFault)
    throw error
  }
}
