import type { Pool } from '../db/pool.ts'
import { tryLock } from '../db/tryLock.ts'

/** Any constant will do, as long as nothing else in this database locks it. */
const ADMISSION_LOCK = 7_204_002

/**
 * Runs `work` while no other control writes balances into the admission state.
 * @returns the result, or undefined when another one is at it
 */
export function tryAdmissionLock<T>(pool: Pool, work: () => Promise<T>): Promise<T | undefined> {
  return tryLock(pool, ADMISSION_LOCK, work)
}
