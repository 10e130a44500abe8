import type { Client } from '../runtime/db/pool.ts'
import { type AuditCheck, Faults, type Invariant } from './check.ts'
import type { AuditLimits } from './limits.ts'
import { longQuery } from './workspace.ts'

const FAULTS_READ_MAX = 1_000

/**
 * Reads the violations of an invariant, a bounded number of them, and what was checked.
 * @param values of the parameters that the query of its violations names
 * @throws errors of PostgreSQL
 */
export async function checkInvariant(
  client: Client,
  invariant: Invariant,
  limits: AuditLimits,
  values: unknown[] = [],
): Promise<AuditCheck> {
  const faults = new Faults()
  const query = longQuery(limits, `${invariant.faults} LIMIT ${FAULTS_READ_MAX}`, values)
  const [found, count] = await Promise.all([
    client.query({ ...query, rowMode: 'array' }),
    client.query({ ...longQuery(limits, invariant.checked), rowMode: 'array' }),
  ])
  for (const [fault] of found.rows as unknown[][]) faults.add(String(fault))
  return faults.check(invariant.name, String((count.rows as unknown[][])[0]?.[0]))
}
