import { DAY_MS } from '../../../contract/api/time.ts'
import type { Limits } from '../../limits.ts'
import { intArray } from '../../runtime/db/arrays.ts'
import { lockUntilCommit } from '../../runtime/db/locks.ts'
import { type Client, type Pool, withTransaction } from '../../runtime/db/pool.ts'
import { firstOf, type Stretch, sizeOf } from '../usagelog/stretches.ts'
import { type Cell, FIGURES, type OwnedCell } from './cell.ts'
import { freshReceipts } from './freshReceipts.ts'
import { release } from './release.ts'

/**
 * Counts the next receipts of the usage logs for the public statistics, and publishes what may be told. All of it is one
 * transaction with the places that are counted up to, so that every receipt counts exactly once, however late it was booked,
 * also when processes do this at once or die.
 * @param nowMs milliseconds since 1970
 * @returns whether there is more to count
 */
export function countReceipts(pool: Pool, limits: Limits, nowMs: number = Date.now()): Promise<boolean> {
  return withTransaction(pool, async (client) => {
    await lockUntilCommit(client, 'statistics')
    const uncounted = await readUncounted(client)
    const stretches = firstOf(uncounted, limits.statisticsReceiptsMax)
    const waiting = await readWaiting(client)
    const fresh = await freshReceipts(client, stretches, limits.statsAccountsMin)
    const openDay = Math.floor((nowMs - limits.statisticsFoldMs) / DAY_MS)
    const released = release([...waiting, ...fresh], openDay, limits.statsAccountsMin)
    await publish(client, released.published)
    if (fresh.length > 0 || released.published.length > 0) await keepWaiting(client, released.waiting)
    await advance(client, stretches)
    return sizeOf(stretches) < sizeOf(uncounted)
  })
}

/** What the usage logs have behind the places that are counted up to. */
export async function readUncounted(client: Pick<Client, 'query'>): Promise<Stretch[]> {
  const found = await client.query<Stretch>(
    `SELECT log, c.position AS "from", h.size AS "to" FROM statistics_cursors c JOIN usage_log_heads h USING (log)
     WHERE h.size > c.position ORDER BY log`,
  )
  return found.rows
}

async function readWaiting(client: Client): Promise<OwnedCell[]> {
  const found = await client.query<OwnedCell>(
    `SELECT day, model, ${FIGURES.join(', ')}, to_json(durations) AS durations, to_json(first_tokens) AS first_tokens, owners
     FROM waiting_statistics ORDER BY day, model`,
  )
  return found.rows
}

const COLUMNS = ['day', 'model', ...FIGURES, 'durations', 'first_tokens'].join(', ')
const ADDED = FIGURES.map((name) => `${name} = s.${name} + excluded.${name}`).join(', ')

async function publish(client: Client, cells: readonly Cell[]): Promise<void> {
  if (cells.length === 0) return
  await client.query(
    `INSERT INTO public_statistics AS s (${COLUMNS})
     SELECT ${COLUMNS} FROM json_populate_recordset(NULL::public_statistics, $1::json)
     ON CONFLICT (day, model) DO UPDATE SET ${ADDED}, durations = add_counts(s.durations, excluded.durations),
       first_tokens = add_counts(s.first_tokens, excluded.first_tokens)`,
    [JSON.stringify(cells)],
  )
}

async function keepWaiting(client: Client, cells: readonly OwnedCell[]): Promise<void> {
  await client.query('DELETE FROM waiting_statistics')
  if (cells.length === 0) return
  await client.query(
    `INSERT INTO waiting_statistics (${COLUMNS}, owners)
     SELECT ${COLUMNS}, owners FROM json_populate_recordset(NULL::waiting_statistics, $1::json)`,
    [JSON.stringify(cells)],
  )
}

async function advance(client: Client, stretches: readonly Stretch[]): Promise<void> {
  if (stretches.length === 0) return
  await client.query(
    `UPDATE statistics_cursors c SET position = s.position
     FROM unnest($1::smallint[], $2::bigint[]) AS s (log, position) WHERE c.log = s.log`,
    [intArray(stretches.map(({ log }) => log)), intArray(stretches.map(({ to }) => to))],
  )
}
