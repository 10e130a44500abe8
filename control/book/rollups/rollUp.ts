import { locking } from '../../runtime/db/lockOrder.ts'
import { lockTextUntilCommit } from '../../runtime/db/locks.ts'
import { type Client, type Pool, withTransaction } from '../../runtime/db/pool.ts'
import type { BookLimits } from '../limits.ts'
import { SUM_COLUMNS } from '../usage/usageSums.ts'
import { ROLLUP_KEYS, rollupsOf } from './rollupSums.ts'

/** Which days of which account; from the first day up to but without the last. */
interface Piece {
  readonly accountId: string
  readonly fromDay: number
  readonly untilDay: number
}

interface Pass {
  readonly untilDay: number
  /** The accounts up to this one are done. */
  readonly accountId: string
}

/** A day is rolled up so long after its end, longer than any transaction takes: later bookings find the trigger. */
const LATER = "interval '1 hour'"

const READ_PASS = `
  SELECT until_day AS "untilDay", account_id AS "accountId", is_done AS "isDone",
    ((now() - ${LATER}) AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS "dueDay"
  FROM usage_rollup_pass FOR UPDATE`

/** SQL of whether an account has enough rows of sums before $2. */
const HAS_MANY = [
  'FROM usage_days WHERE account_id = n.account_id AND day < $2',
  'FROM usage_outcomes WHERE account_id = n.account_id AND day < $2',
  `FROM usage_tags WHERE account_id = n.account_id AND kind = 'tag' AND hours = 24 AND period < $2`,
  `FROM usage_tags WHERE account_id = n.account_id AND kind = 'user' AND hours = 24 AND period < $2`,
]
  .map((rows) => `(SELECT count(*) FROM (SELECT ${rows} LIMIT $3) AS first) = $3`)
  .join(' OR ')

/** The next accounts, and the first of them that is to be rolled up. */
const NEXT = `
  WITH next AS MATERIALIZED (
    SELECT account_id FROM admission_accounts WHERE account_id > $1 ORDER BY account_id LIMIT $4
  )
  SELECT max(account_id) AS last, (
    SELECT json_build_array(n.account_id, e.until_day)
    FROM (SELECT * FROM next ORDER BY account_id) AS n LEFT JOIN usage_rollup_ends e USING (account_id)
    WHERE CASE WHEN e.until_day IS NULL THEN ${HAS_MANY} ELSE e.until_day < $2 END LIMIT 1
  ) AS due
  FROM next`

const SUMS: readonly string[] = SUM_COLUMNS
const COLUMNS = [...ROLLUP_KEYS, ...SUMS].join(', ')
const OF_PIECE = 'account_id = $1 AND day >= $2 AND day < $3'
const ADD = `
  INSERT INTO usage_rollups AS u (${COLUMNS})
  SELECT ${COLUMNS} FROM (${rollupsOf({
    days: `(SELECT * FROM usage_days WHERE ${OF_PIECE})`,
    outcomes: `(SELECT * FROM usage_outcomes WHERE ${OF_PIECE})`,
    tags: `(SELECT * FROM usage_tags WHERE account_id = $1 AND hours = 24 AND period >= $2 AND period < $3)`,
  })}) AS fresh ORDER BY ${ROLLUP_KEYS.join(', ')}
  ON CONFLICT (${ROLLUP_KEYS.join(', ')}) DO UPDATE SET ${SUMS.map((name) => `${name} = u.${name} + excluded.${name}`).join(', ')}`

/**
 * Rolls up the next days of the next account that has many rows of sums and days that are over. One transaction does it and moves
 * the account's end, so that a kill leaves either all of it or nothing.
 * @returns whether there may be more
 */
export function rollUp(pool: Pool, limits: BookLimits): Promise<boolean> {
  return withTransaction(pool, async (client) => {
    const pass = await currentPass(client)
    if (pass === undefined) return false
    const { untilDay } = pass
    const { usageRollupRowsMin: rowsMin, usageRollupAccounts: accounts } = limits
    const found = await client.query<{ last: string | null; due: [string, number | null] | null }>(NEXT, [
      pass.accountId,
      untilDay,
      rowsMin,
      accounts,
    ])
    const { last, due } = found.rows[0] ?? { last: null, due: null }
    if (due === null) {
      await keepPass(client, { untilDay, accountId: last ?? '' }, last === null)
      return last !== null
    }
    const [accountId, endDay] = due
    if ((await rollUpNext(client, { accountId, fromDay: endDay ?? 0, untilDay }, limits)) === untilDay) {
      await keepPass(client, { untilDay, accountId }, false)
    }
    return true
  })
}

/** The pass that is under way, or a new one if days were over since the last. Its row is locked, so that one process works on it. */
async function currentPass(client: Client): Promise<Pass | undefined> {
  locking(client, 'cursors', () => ['usage_rollup_pass'])
  const { rows } = await client.query<Pass & { isDone: boolean; dueDay: number }>(READ_PASS)
  const [pass] = rows
  if (pass === undefined) return undefined
  if (pass.untilDay < pass.dueDay) return { untilDay: pass.dueDay, accountId: '' }
  return pass.isDone ? undefined : pass
}

async function keepPass(client: Client, { untilDay, accountId }: Pass, isDone: boolean): Promise<void> {
  await client.query('UPDATE usage_rollup_pass SET until_day = $1, account_id = $2, is_done = $3', [
    untilDay,
    accountId,
    isDone,
  ])
}

/** Rolls up the first days of a piece. @returns the first day that is left */
async function rollUpNext(client: Client, piece: Piece, limits: BookLimits): Promise<number> {
  const { accountId } = piece
  // Bookings of days that are over share this lock. Those that were committed before are seen from here on.
  await lockTextUntilCommit(client, 'usageRollups', `usage of ${accountId}`)
  const untilDay = await endOf(client, piece, limits.usageRollupRowsMax)
  await client.query(ADD, [accountId, piece.fromDay, untilDay])
  await client.query(
    `INSERT INTO usage_rollup_ends (account_id, until_day) VALUES ($1, $2)
     ON CONFLICT (account_id) DO UPDATE SET until_day = excluded.until_day`,
    [accountId, untilDay],
  )
  return untilDay
}

/** Where the first days of a piece end that have at most so many rows, or are one day. */
async function endOf(client: Client, { accountId, fromDay, untilDay }: Piece, most: number): Promise<number> {
  const { rows } = await client.query<{ first: number | null; beyond: number | null }>(
    `SELECT (SELECT min(day) FROM usage_days WHERE ${OF_PIECE}) AS first,
       (SELECT day FROM usage_days WHERE ${OF_PIECE} ORDER BY day OFFSET $4 LIMIT 1) AS beyond`,
    [accountId, fromDay, untilDay, most],
  )
  const { first, beyond } = rows[0] ?? { first: null, beyond: null }
  if (first === null || beyond === null) return untilDay
  return Math.max(beyond, first + 1)
}
