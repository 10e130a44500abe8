import { formatDay } from '../../../contract/api/time.ts'
import { invalidRequest } from '../../../contract/errors/errors.ts'
import { type Client, type Pool, type Queryable, withSnapshot } from '../../runtime/db/pool.ts'
import type { BookLimits } from '../limits.ts'
import { readParts } from './rolledUpPage.ts'
import { isPeriod, type UsageGroup, UsageGroups } from './usageGroups.ts'
import { dayRows, hourRows, outcomeRows, tagRows, type UsageRows, type UsageScope } from './usageRows.ts'
import { ACCOUNT_SUMS, SUMS, sumsJson, type UsageSums, wholeOf } from './usageSums.ts'

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
export async function readUsage(pool: Pool, query: UsageQuery, limits: BookLimits) {
  const { fromDay, toDay } = query
  const family = familyOf(query, limits)
  // Periods come before all else, in whatever order they are named.
  const groupBy = query.groupBy.toSorted((a, b) => Number(isPeriod(b)) - Number(isPeriod(a)))
  const groups = new UsageGroups(groupBy, query.after, query)
  const { total, page } = await withSnapshot(pool, async (client) => {
    const scope = await scopeOf(client, query)
    return scope.rolledUp.length > 0
      ? readRolledUp(client, { ...query, groupBy }, scope, groups, family)
      : readWhole(client, { ...query, groupBy }, scope, groups, family)
  })
  return {
    object: 'list' as const,
    from: formatDay(fromDay),
    to: formatDay(toDay),
    group_by: [...query.groupBy],
    total: sumsJson(total),
    ...page,
  }
}

/** Which sums have the groups of a query. @throws GatewayError for a query that they cannot answer */
function familyOf({ accountId, fromDay, toDay, groupBy, model, keyId }: UsageQuery, limits: BookLimits): Family {
  if (toDay < fromDay) throw invalidRequest('to must not be before from.', 'to')
  if (toDay - fromDay >= limits.usageDaysMax) {
    throw invalidRequest(`from and to span at most ${limits.usageDaysMax} days.`, 'to')
  }
  const family = fineFamily(groupBy)
  if (family === 'tags' && model !== '') {
    throw invalidRequest('model does not filter usage by tag or user; leave it out.', 'model')
  }
  if (family !== 'days' && keyId !== '') {
    throw invalidRequest('key does not filter usage by hour, outcome, tag or user; leave it out.', 'key')
  }
  if (family === 'hours' && accountId !== undefined) {
    throw invalidRequest('Usage of an account by hour is by tag or user.', 'group_by')
  }
  return family
}

type Family = 'days' | 'hours' | 'outcomes' | 'tags'

/** Those that have groups which sums by day, key and model do not have. */
function fineFamily(groupBy: readonly UsageGroup[]): Family {
  if (groupBy.includes('tag') || groupBy.includes('user')) return 'tags'
  if (groupBy.includes('hour')) return 'hours'
  return groupBy.includes('outcome') || groupBy.includes('provider') ? 'outcomes' : 'days'
}

/** Reads every row once. */
async function readWhole(client: Client, query: UsageQuery, scope: UsageScope, groups: UsageGroups, family: Family) {
  const { limit } = query
  const days = dayRows(scope, query, { keys: true, models: true, byMonth: false })
  if (family === 'days') return groups.whole(client, days, limit)
  const { page } = await groups.whole(client, fineRows(family, scope, query, false), limit)
  return { total: await totalOf(client, days), page }
}

/** Reads the rows of rollups that the whole and the page need. */
async function readRolledUp(client: Client, query: UsageQuery, scope: UsageScope, groups: UsageGroups, family: Family) {
  const { groupBy, limit } = query
  const byMonth = !groupBy.includes('day') && !groupBy.includes('hour')
  const keys = groupBy.includes('key') || groupBy.includes('platform_key')
  const names = { keys, models: groupBy.includes('model'), byMonth }
  const total = totalOf(client, dayRows(scope, query, { keys: false, models: false, byMonth: true }), ACCOUNT_SUMS)
  const [named] = groupBy.filter((group) => !isPeriod(group))
  const column = named === 'key' ? 'key_id' : named === 'model' ? 'model' : undefined
  const isWide = family === 'days' && byMonth && names.keys && names.models
  const page = readParts({
    groupBy,
    days: scope,
    groups,
    most: limit + 1,
    read: (days, most, values) => {
      const part = { ...scope, ...days }
      const among = column === undefined || values === undefined ? {} : { among: { column, values } as const }
      const rows =
        family === 'days' ? dayRows(part, query, { ...names, ...among }) : fineRows(family, part, query, byMonth)
      return groups.first(client, rows, most)
    },
    ...(isWide && column !== undefined && { names: () => namesOf(client, scope, query, column) }),
  })
  await Promise.allSettled([total, page])
  return { total: await total, page: groups.json(await page, limit) }
}

function fineRows(family: Exclude<Family, 'days'>, scope: UsageScope, query: UsageQuery, byMonth: boolean): UsageRows {
  if (family === 'tags') return tagRows(scope, query.groupBy, byMonth)
  return family === 'hours'
    ? hourRows(scope, query)
    : outcomeRows(scope, query, { models: query.groupBy.includes('model'), byMonth })
}

async function totalOf(db: Queryable, { sql, values }: UsageRows, sums = SUMS): Promise<UsageSums> {
  const found = await db.query<UsageSums>(`SELECT ${sums} FROM ${sql}`, [...values])
  return wholeOf(found.rows)
}

/** The keys or models of the usage in their order; perhaps more than those of the filters. */
async function namesOf(
  db: Queryable,
  scope: UsageScope,
  query: UsageQuery,
  column: 'key_id' | 'model',
): Promise<string[]> {
  const [keys, models] = [column === 'key_id', column === 'model']
  const filter = {
    model: models ? query.model : '',
    keyId: keys ? query.keyId : '',
    platformKeyId: keys ? query.platformKeyId : '',
  }
  const { sql, values } = dayRows(scope, filter, { keys, models, byMonth: true })
  const found = await db.query<{ name: string }>(`SELECT DISTINCT ${column} AS name FROM ${sql} ORDER BY name`, [
    ...values,
  ])
  return found.rows.map(({ name }) => name)
}

/** The account, and its agents where usage is asked for by agent; and up to where they are rolled up. */
async function scopeOf(db: Queryable, { accountId, groupBy, fromDay, toDay }: UsageQuery): Promise<UsageScope> {
  const none = { fromDay, toDay, rolledUp: [], untilDay: 0 }
  if (accountId === undefined) return { ...none, accountIds: undefined }
  const accounts = groupBy.includes('agent')
    ? 'SELECT $1 AS account_id UNION ALL SELECT account_id FROM account_owners WHERE owner_id = $1'
    : 'SELECT $1 AS account_id'
  const found = await db.query<{ id: string; until: number | null }>(
    `SELECT a.account_id AS id, e.until_day AS until FROM (${accounts}) AS a LEFT JOIN usage_rollup_ends e USING (account_id)`,
    [accountId],
  )
  const accountIds = found.rows.map(({ id }) => id)
  // Months of an account have all days before its own end, so that accounts with another one are read from the sums of days.
  const untilDay = groupBy.includes('provider') ? 0 : (found.rows.find(({ id }) => id === accountId)?.until ?? 0)
  const rolledUp = untilDay === 0 ? [] : found.rows.filter(({ until }) => until === untilDay).map(({ id }) => id)
  return { ...none, accountIds, rolledUp, untilDay }
}
