import { formatDay } from '../../../contract/api/time.ts'
import { invalidRequest } from '../../../contract/errors/errors.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { BookLimits } from '../limits.ts'
import { isPeriod, readGroups, type UsageGroup } from './usageGroups.ts'
import { dayRows, hourRows, outcomeRows, tagRows, type UsageRows, type UsageScope } from './usageRows.ts'
import { SUMS, sumsJson, type UsageSums, wholeOf } from './usageSums.ts'

export interface UsageQuery {
  /** Undefined for all accounts. */
  readonly accountId: string | undefined
  /** Days since 1970, UTC; both are part of it. */
  readonly fromDay: number
  readonly toDay: number
  readonly groupBy: readonly UsageGroup[]
  /** Only of this model, this key, or the sub-keys of this platform key; '' for all. */
  readonly model: string
  readonly keyId: string
  readonly platformKeyId: string
  readonly limit: number
  /** `next` of the page before, or ''. */
  readonly after: string
}

/** The usage of an account, or of all: the whole, and a page of its groups, latest period first. @throws GatewayError */
export async function readUsage(db: Queryable, query: UsageQuery, limits: BookLimits) {
  const { fromDay, toDay, groupBy, model, keyId } = query
  if (toDay < fromDay) throw invalidRequest('to must not be before from.', 'to')
  if (toDay - fromDay >= limits.usageDaysMax) {
    throw invalidRequest(`from and to span at most ${limits.usageDaysMax} days.`, 'to')
  }
  const rowsOf = fineRows(groupBy)
  if (rowsOf === tagRows && model !== '') {
    throw invalidRequest('model does not filter usage by tag or user; leave it out.', 'model')
  }
  if (rowsOf !== undefined && keyId !== '') {
    throw invalidRequest('key does not filter usage by hour, outcome, tag or user; leave it out.', 'key')
  }
  if (rowsOf === hourRows && query.accountId !== undefined) {
    throw invalidRequest('Usage of an account by hour is by tag or user.', 'group_by')
  }
  const scope = { accountIds: await accountsOf(db, query), fromDay, toDay }
  const days = dayRows(scope, query)
  const { total, page } =
    rowsOf === undefined
      ? await readGroups(db, days, query)
      : { ...(await readGroups(db, rowsOf(scope, query), latestFirst(query))), total: await totalOf(db, days) }
  return {
    object: 'list' as const,
    from: formatDay(fromDay),
    to: formatDay(toDay),
    group_by: [...groupBy],
    total: sumsJson(total),
    ...page,
  }
}

async function totalOf(db: Queryable, { sql, values }: UsageRows): Promise<UsageSums> {
  const found = await db.query<UsageSums>(`SELECT ${SUMS} FROM ${sql}`, [...values])
  return wholeOf(found.rows)
}

/** The rows of groups that sums by day, key and model do not have; undefined where they do. */
function fineRows(groupBy: readonly UsageGroup[]): ((scope: UsageScope, query: UsageQuery) => UsageRows) | undefined {
  if (groupBy.includes('tag') || groupBy.includes('user')) return tagRows
  if (groupBy.includes('hour')) return hourRows
  return groupBy.includes('outcome') || groupBy.includes('provider') ? outcomeRows : undefined
}

/** With periods before all else, in whatever order they are named. */
function latestFirst(query: UsageQuery): UsageQuery {
  return { ...query, groupBy: query.groupBy.toSorted((a, b) => Number(isPeriod(b)) - Number(isPeriod(a))) }
}

/** The account, and its agents where usage is asked for by agent. */
async function accountsOf(db: Queryable, { accountId, groupBy }: UsageQuery): Promise<string[] | undefined> {
  if (accountId === undefined || !groupBy.includes('agent')) return accountId === undefined ? undefined : [accountId]
  const agents = await db.query<{ account_id: string }>('SELECT account_id FROM account_owners WHERE owner_id = $1', [
    accountId,
  ])
  return [accountId, ...agents.rows.map((row) => row.account_id)]
}
