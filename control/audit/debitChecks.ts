import type { Redis } from '../../contract/wire/redis.ts'
import { SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { type DebitRecord, readDebits } from '../admission/debitRecord.ts'
import type { HeldParts } from '../admission/heldParts.ts'
import { textArray } from '../runtime/db/arrays.ts'
import type { Client } from '../runtime/db/pool.ts'
import { type AuditCheck, Faults } from './check.ts'
import type { AuditLimits } from './limits.ts'

/** How long a debit may stay taken beyond the time after which it is voided. */
const GRACE_MS = 60_000

/** Adds the debits taken in Redis to the held amounts. @returns a check that no debit was left behind */
export async function addDebits(
  client: Client,
  redis: Redis,
  held: HeldParts,
  nowMs: number,
  limits: AuditLimits,
): Promise<AuditCheck> {
  const faults = new Faults()
  let count = 0
  for (let shard = 0; shard < SHARD_COUNT; shard++) {
    const seen = new Map<string, DebitRecord>()
    for await (const page of readDebits(redis, shard)) for (const debit of page) seen.set(debit.debitId, debit)
    if (seen.size === 0) continue
    const found = await client.query<{ id: string }>(
      'SELECT id FROM debits WHERE id = ANY ($1::text[]) AND NOT voided',
      [textArray([...seen.keys()])],
    )
    const booked = new Set(found.rows.map((row) => row.id))
    for (const debit of seen.values()) {
      count++
      held.addDebit(debit, booked.has(debit.debitId))
      if (nowMs - debit.takenAtMs <= limits.debitVoidMs + GRACE_MS) continue
      faults.add(`${debit.debitId} of ${debit.accountId} is taken since ${debit.takenAtMs}`)
    }
  }
  return faults.check('no debit is left behind', `${count} debits under way`)
}
