import { parseMonth } from '../../../contract/api/time.ts'
import { invalidRequest } from '../../../contract/errors/errors.ts'
import type { ReadHandler } from '../../api/call.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import type { RecordsLimits } from '../limits.ts'
import { statementPart } from './statement.ts'

/** GET /v1/statements/{month}.csv, in parts. */
export function statementHandler(pool: Pool, limits: RecordsLimits): ReadHandler {
  return {
    read: async ({ params, accountId, part }) => {
      const name = params['month'] ?? ''
      const month = parseMonth(name)
      if (month === undefined || month.startMs > Date.now()) {
        throw invalidRequest('The statement must be of a month that has begun, such as 2027-01.', 'month')
      }
      const { text, next } = await statementPart(pool, { accountId, ...month }, part, limits)
      return {
        text,
        contentType: 'text/csv; charset=utf-8',
        headers: ['content-disposition', `attachment; filename="sluice-statement-${name}.csv"`],
        nextPart: next,
      }
    },
  }
}
