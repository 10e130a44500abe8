import { type Pool, withTransaction } from '../../runtime/db/pool.ts'
import type { BookLimits } from '../limits.ts'
import { outcomesOf } from '../usage/receiptSums.ts'
import { SUM_COLUMNS } from '../usage/usageSums.ts'
import { countAlong } from '../usagelog/cursors.ts'
import { STRETCH_RECEIPTS, stretchArrays } from '../usagelog/stretches.ts'

const KEYS = 'account_id, day, model, provider, outcome'

const ADD = `
  INSERT INTO usage_outcomes AS u (${KEYS}, ${SUM_COLUMNS.join(', ')})
  SELECT * FROM (${outcomesOf(STRETCH_RECEIPTS)}) AS fresh ORDER BY ${KEYS}
  ON CONFLICT (${KEYS}) DO UPDATE SET ${SUM_COLUMNS.map((name) => `${name} = u.${name} + excluded.${name}`).join(', ')}`

/**
 * Adds the next receipts to the usage by provider and outcome. They are read from the book, and not staged by their booking, so
 * that receipts of control processes of the version before are counted as well.
 * @returns whether there is more to count
 */
export function countOutcomes(pool: Pool, limits: BookLimits): Promise<boolean> {
  return withTransaction(pool, (client) =>
    countAlong(
      client,
      'usage_outcome_cursors',
      limits.statisticsReceiptsMax,
      () => Promise.resolve(true),
      async (stretches) => {
        await client.query({
          name: 'statistics_usage_outcomes',
          text: ADD,
          values: stretchArrays(stretches),
        })
      },
    ),
  )
}
