import { textArray } from '../../runtime/db/arrays.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { expiryRef } from './charges.ts'
import type { BookableEntry, Entry } from './entry.ts'
import type { OwnerPositions } from './ownerPositions.ts'
import { rejectedAmong } from './rejects.ts'

/** The name under which a request or an expiry is booked. */
export function nameOf(entry: BookableEntry): string {
  return entry.kind === 'ended' ? entry.receipt.requestId : expiryRef(entry.raw)
}

/** Which requests and expiries of these entries the book has, by their names. */
export async function bookedAmong(client: Queryable, entries: readonly Entry[]): Promise<Set<string>> {
  if (entries.length === 0) return new Set()
  const requests: string[] = []
  const expiries: string[] = []
  for (const entry of entries) {
    if (entry.kind === 'ended') requests.push(nameOf(entry))
    else if (entry.kind === 'expired') expiries.push(nameOf(entry))
  }
  const [least, greatest] = boundsOf(requests)
  // The bounds select the months to read. A list that the planner sees is compared with every month, name by name.
  const found = await client.query<{ name: string }>({
    name: 'settlement_booked',
    text: `SELECT request_id AS name FROM receipts
           WHERE request_id = ANY ((SELECT $1::text[])::text[]) AND request_id >= $3 AND request_id <= $4
           UNION ALL SELECT ref FROM transfers WHERE ref = ANY ($2::text[]) AND kind = 'expire'`,
    values: [textArray(requests), textArray(expiries), least, greatest],
  })
  return new Set(found.rows.map((row) => row.name))
}

/**
 * Endings that the position of their owner counts as booked, and of which there is neither a receipt nor a reject: the
 * position is too high. Only endings that are delivered again are looked up, which are few.
 */
export async function missingAmong(
  client: Queryable,
  entries: readonly Entry[],
  owners: OwnerPositions,
): Promise<Set<Entry>> {
  const counted = entries.filter((entry) => owners.has(entry))
  const booked = await bookedAmong(client, counted)
  const left = counted.filter((entry) => entry.kind === 'malformed' || !booked.has(nameOf(entry)))
  const rejected = await rejectedAmong(client, left)
  return new Set(left.filter((entry) => !rejected.has(entry)))
}

/** The first and the last of some ids, which are ASCII. */
function boundsOf(ids: readonly string[]): [least: string, greatest: string] {
  let [least = '', greatest = ''] = [ids[0], ids[0]]
  for (const id of ids) {
    if (id < least) least = id
    else if (id > greatest) greatest = id
  }
  return [least, greatest]
}
