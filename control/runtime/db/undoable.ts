import { type Client, type Pool, withTransaction } from './pool.ts'

/** Reverts an effect outside of the database when its transaction did not commit. Safe to call at any time. */
export type Undo = () => Promise<unknown>

/** A transaction whose work has effects outside of the database as well. */
export interface UndoableTransaction {
  readonly client: Client
  /** Call it before the effect, because the outcome of the effect may stay unknown. */
  onRollback(undo: Undo): void
}

/**
 * Runs `work` in one transaction and commits it. When this rejects, every registered undo runs; an undo has to find out by
 * itself whether the transaction committed after all (connection lost at the commit).
 * @param onFault called with the error of an undo that failed
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
