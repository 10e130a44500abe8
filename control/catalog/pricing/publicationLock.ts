import type { Client } from '../../runtime/db/pool.ts'

// Any number that nothing else in the book locks: publications happen one after the other.
const PUBLISH_LOCK = 7_301_010

/** Waits until no other transaction publishes, and keeps others from it until the caller's ends. */
export async function lockPublication(client: Client): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [PUBLISH_LOCK])
}
