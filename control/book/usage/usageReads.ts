import { formatDay } from '../../../contract/api/time.ts'
import { invalidRequest } from '../../../contract/errors/errors.ts'
import { formatUsdWide } from '../../../contract/money/units.ts'
import { isId } from '../../../contract/wire/ids.ts'
import { textArray } from '../../runtime/db/arrays.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { BookLimits } from '../limits.ts'

/** The groups of usage, and their columns. */
const COLUMNS = { day: 'day', model: 'model', key: 'key_id', agent: 'account_id' } as const

export type UsageGroup = keyof typeof COLUMNS

export interface UsageQuery {
  readonly accountId: string
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

interface UsageRow {
  readonly day?: number
  readonly model?: string
  readonly key_id?: string
  readonly account_id?: string
  readonly requests: number
  /** As decimal text: over a year it may exceed the largest balance of an account. */
  readonly units: string
  readonly input_tokens: number
  readonly cached_input_tokens: number
  readonly output_tokens: number
}

const SUMS = ['requests', 'input_tokens', 'cached_input_tokens', 'output_tokens']
  .map((name) => `coalesce(sum(${name}), 0) AS ${name}`)
  .concat('coalesce(sum(units), 0)::text AS units')
  .join(', ')

const OF_ACCOUNT = `FROM usage_days WHERE account_id = ANY ($1::text[]) AND day BETWEEN $2 AND $3
  AND ($4 = '' OR model = $4) AND ($5 = '' OR key_id = $5)
  AND ($6 = '' OR key_id IN (SELECT k.key_id FROM sub_keys k WHERE k.platform_key_id = $6))`

/** The usage of an account: the whole, and a page of its groups, latest day first. @throws GatewayError */
export async function readUsage(db: Queryable, query: UsageQuery, limits: BookLimits) {
  const { fromDay, toDay, groupBy, model, keyId, platformKeyId, limit } = query
  if (toDay < fromDay) throw invalidRequest('to must not be before from.', 'to')
  if (toDay - fromDay >= limits.usageDaysMax) {
    throw invalidRequest(`from and to span at most ${limits.usageDaysMax} days.`, 'to')
  }
  const filter = [textArray(await accountsOf(db, query)), fromDay, toDay, model, keyId, platformKeyId]
  const total = await db.query<UsageRow>(`SELECT ${SUMS} ${OF_ACCOUNT}`, filter)
  const rows = await groupsOf(db, query, filter)
  const last = rows.length > limit ? rows[limit - 1] : undefined
  return {
    object: 'list' as const,
    from: formatDay(fromDay),
    to: formatDay(toDay),
    group_by: [...groupBy],
    total: total.rows[0] && sumsJson(total.rows[0]),
    data: rows.slice(0, limit).map(groupJson),
    has_more: rows.length > limit,
    next: last === undefined ? null : cursorOf(last, groupBy),
  }
}

/** The account, and its agents where usage is asked for by agent. */
async function accountsOf(db: Queryable, { accountId, groupBy }: UsageQuery): Promise<string[]> {
  if (!groupBy.includes('agent')) return [accountId]
  const agents = await db.query<{ account_id: string }>('SELECT account_id FROM account_owners WHERE owner_id = $1', [
    accountId,
  ])
  return [accountId, ...agents.rows.map((row) => row.account_id)]
}

async function groupsOf(db: Queryable, query: UsageQuery, filter: readonly unknown[]): Promise<UsageRow[]> {
  const { groupBy, after, limit } = query
  const columns = groupBy.map((group) => COLUMNS[group])
  // Negated, the latest day comes first in the same order as the other columns, so that one comparison pages.
  const order = groupBy.map((group) => (group === 'day' ? '-day' : COLUMNS[group])).join(', ')
  const place = after === '' ? [] : readCursor(after, groupBy)
  const behind = place.length === 0 ? '' : `WHERE (${order}) > (${place.map((_, i) => `$${i + 8}`).join(', ')})`
  const found = await db.query<UsageRow>(
    `SELECT * FROM (SELECT ${columns.join(', ')}, ${SUMS} ${OF_ACCOUNT} GROUP BY ${columns.join(', ')}) AS groups
     ${behind} ORDER BY ${order} LIMIT $7`,
    [...filter, limit + 1, ...place],
  )
  return found.rows
}

function cursorOf(row: UsageRow, groupBy: readonly UsageGroup[]): string {
  const place = groupBy.map((group) => (group === 'day' ? -(row.day ?? 0) : row[COLUMNS[group]]))
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** @throws GatewayError when it is not the cursor of a page with these groups */
function readCursor(text: string, groupBy: readonly UsageGroup[]): readonly (string | number)[] {
  const place = parsed(text)
  const fits =
    Array.isArray(place) &&
    place.length === groupBy.length &&
    place.every((value, i) =>
      groupBy[i] === 'day' ? isDay(value) : typeof value === 'string' && !value.includes('\0'),
    )
  if (fits) return place as (string | number)[]
  throw invalidRequest('after must be what the page before gave as next, with the same group_by.', 'after')
}

const isDay = (value: unknown): boolean => Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31

function parsed(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}

function sumsJson(row: UsageRow) {
  return {
    requests: row.requests,
    input_tokens: row.input_tokens,
    cached_input_tokens: row.cached_input_tokens,
    output_tokens: row.output_tokens,
    cost: { units: row.units, usd: formatUsdWide(BigInt(row.units)) },
  }
}

function groupJson(row: UsageRow) {
  return {
    object: 'usage' as const,
    ...(row.day === undefined ? {} : { day: formatDay(row.day) }),
    ...(row.model === undefined ? {} : { model: row.model }),
    ...(row.key_id === undefined ? {} : { key_id: row.key_id }),
    ...(row.account_id === undefined ? {} : { agent_id: isId('agt', row.account_id) ? row.account_id : null }),
    ...sumsJson(row),
  }
}
