import { type Client, type Pool, withSnapshot } from '../runtime/db/pool.ts'

/** Runs reads that all see the book as it is at one moment, however long they take. */
export function inSnapshot<T>(pool: Pool, work: (client: Client) => Promise<T>): Promise<T> {
  return withSnapshot(pool, async (client) => {
    await client.query('SET LOCAL statement_timeout = 0')
    return work(client)
  })
}
