import { parseMonth } from '../../../contract/api/time.ts'
import { invalidRequest } from '../../../contract/errors/errors.ts'
import type { ContractLimits } from '../../../contract/limits/limits.ts'
import { readTagsHeader, type TagLimits, tagsIn, userText } from '../../../contract/money/tags.ts'
import type { ReadHandler } from '../../api/call.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import type { RecordsLimits } from '../limits.ts'
import { type StatementForm, statementPart } from './statement.ts'

const CONTENT_TYPES = { csv: 'text/csv; charset=utf-8', json: 'application/json' } as const

type StatementLimits = RecordsLimits & TagLimits & Pick<ContractLimits, 'userBytesMax'>

/** The canonical text of one tag. @throws GatewayError 400 */
function oneTag(text: string, limits: TagLimits): string {
  const tags = readTagsHeader(text, 'tag', limits)
  if (tagsIn(tags).length > 1) throw invalidRequest('tag must be a single tag, such as team=search.', 'tag')
  return tags
}

/** GET /v1/statements/{month}.csv and .json, in parts. */
export function statementHandler(pool: Pool, form: StatementForm, limits: StatementLimits): ReadHandler {
  return {
    read: async ({ params, query, accountId, part }) => {
      const name = params['month'] ?? ''
      const month = parseMonth(name)
      if (month === undefined || month.startMs > Date.now()) {
        throw invalidRequest('The statement must be of a month that has begun, such as 2027-01.', 'month')
      }
      const { tag = '', user = '' } = query as { tag?: string; user?: string }
      const filter = { tag: oneTag(tag, limits), user: userText(user, 'user', limits) }
      const { text, next } = await statementPart(pool, { accountId, ...month, form, ...filter }, part, limits)
      return {
        text,
        contentType: CONTENT_TYPES[form],
        headers: ['content-disposition', `attachment; filename="sluice-statement-${name}.${form}"`],
        nextPart: next,
      }
    },
  }
}
