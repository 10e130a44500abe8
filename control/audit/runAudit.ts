import type { Redis } from '../../contract/wire/redis.ts'
import type { Limits } from '../limits.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { checkAdmission } from './admissionChecks.ts'
import { checkBook } from './bookChecks.ts'
import { checkChain } from './chainChecks.ts'
import type { AuditCheck } from './check.ts'
import { checkCheckpoints } from './checkpointChecks.ts'
import { checkRates } from './rateChecks.ts'
import { inSnapshot } from './snapshot.ts'
import { checkUsageLogs } from './usageLogChecks.ts'

export type { AuditCheck } from './check.ts'

/**
 * Verifies the invariants of the book, of the usage logs and their checkpoints, and that the admission state agrees with the
 * book. Reads in pages; may run beside traffic.
 * @param rpcUrl of a node, to compare the tokens of the treasury; without it that is left out
 * @returns every check, also those that hold
 * @throws errors of PostgreSQL and Redis
 */
export async function runAudit(pool: Pool, redis: Redis, limits: Limits, rpcUrl?: string): Promise<AuditCheck[]> {
  const book = await inSnapshot(pool, (client) => checkBook(client, limits))
  const rates = await inSnapshot(pool, (client) => checkRates(client, limits))
  const log = await inSnapshot(pool, (client) => checkUsageLogs(client, limits))
  const checkpoints = await inSnapshot(pool, (client) => checkCheckpoints(client, limits))
  const admission = await checkAdmission(pool, redis, limits)
  const chain = await checkChain(pool, rpcUrl, limits)
  return [...book, ...rates, ...log, ...checkpoints, ...admission, ...chain]
}
