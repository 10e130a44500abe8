import { invalidRequest } from '../../../contract/errors/errors.ts'
import { decoded, tagsOf } from '../../../contract/money/tags.ts'
import { isId } from '../../../contract/wire/ids.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { monthOfDay, periodText } from './periods.ts'
import type { UsageRows } from './usageRows.ts'
import { SUM_COLUMNS, SUMS, sumsJson, type UsageSums, wholeOf } from './usageSums.ts'

interface Column {
  /** Of the rows `used`. */
  readonly sql: string
  /** Periods are integers, the latest of which comes first; all else is text. */
  readonly isPeriod: boolean
  readonly member: string
  /** As the API shows it. */
  json(value: string): unknown
}

const period = (name: 'hour' | 'day' | 'month', sql: string): Column => ({
  sql,
  isPeriod: true,
  member: name,
  json: (value) => periodText(name, Number(value)),
})

const text = (sql: string, member: string, json: Column['json'] = (value) => value): Column => ({
  sql,
  isPeriod: false,
  member,
  json,
})

const orNull = (value: string): string | null => (value === '' ? null : value)
const PLATFORM_KEY = `coalesce((SELECT s.platform_key_id FROM sub_keys s WHERE s.key_id = used.key_id), '')`

const COLUMNS = {
  hour: period('hour', 'used.hour'),
  day: period('day', 'used.day'),
  month: period('month', monthOfDay('used.day')),
  account: text('used.account_id', 'account_id'),
  agent: text('used.account_id', 'agent_id', (id) => (isId('agt', id) ? id : null)),
  key: text('used.key_id', 'key_id'),
  platform_key: text(PLATFORM_KEY, 'platform_key_id', orNull),
  model: text('used.model', 'model'),
  provider: text('used.provider', 'provider', orNull),
  outcome: text('used.outcome', 'outcome'),
  tag: text('used.value', 'tag', (value) => (value === '' ? null : tagsOf(value))),
  user: text('used.value', 'user', (value) => (value === '' ? null : decoded(value))),
} as const satisfies Readonly<Record<string, Column>>

export type UsageGroup = keyof typeof COLUMNS

export function isPeriod(group: UsageGroup): boolean {
  return COLUMNS[group].isPeriod
}

/** The member of a group's JSON that names it. */
export function memberOf(group: UsageGroup): string {
  return COLUMNS[group].member
}

type GroupRow = UsageSums & { readonly [column: string]: string | number }

export interface UsagePage {
  readonly data: readonly (ReturnType<typeof sumsJson> & Readonly<Record<string, unknown>>)[]
  readonly has_more: boolean
  readonly next: string | null
}

/** The sums of all rows, and a page of those of their groups in their order, in one pass. @throws GatewayError for an invalid cursor */
export async function readGroups(
  db: Queryable,
  rows: UsageRows,
  {
    groupBy,
    limit,
    after,
  }: { readonly groupBy: readonly UsageGroup[]; readonly limit: number; readonly after: string },
): Promise<{ readonly total: UsageSums; readonly page: UsagePage }> {
  const columns = groupBy.map((group): Column => COLUMNS[group])
  // Negated, the latest period comes first in the same order as the other columns, so that one comparison pages.
  const order = columns.map(({ isPeriod }, i) => (isPeriod ? `-c${i}` : `c${i}`)).join(', ')
  const more = rows.more ?? []
  const names = [...SUM_COLUMNS, ...more]
  const sums = [SUMS, ...more.map((name) => `coalesce(sum(${name}), 0) AS ${name}`)].join(', ')
  const place = after === '' ? [] : readCursor(after, columns)
  const first = rows.values.length + 2
  const behind = place.length === 0 ? '' : `WHERE (${order}) > (${place.map((_, i) => `$${first + i}`).join(', ')})`
  const result = await db.query<GroupRow>(
    `WITH groups AS MATERIALIZED (
       SELECT ${columns.map(({ sql }, i) => `${sql} AS c${i}`).join(', ')}, ${names.map((name) => `sum(${name}) AS ${name}`).join(', ')}
       FROM ${rows.sql} GROUP BY ${columns.map((_, i) => i + 1).join(', ')}
     )
     SELECT * FROM (
       SELECT true AS is_total, ${columns.map((_, i) => `NULL AS c${i}`).join(', ')}, ${sums} FROM groups
       UNION ALL
       SELECT false, ${columns.map((_, i) => `c${i}`).join(', ')}, ${names.map((name) => (name === 'units' ? 'units::text' : name)).join(', ')}
       FROM (SELECT * FROM groups ${behind} ORDER BY ${order} LIMIT $${first - 1}) AS page
     ) AS found ORDER BY is_total DESC, ${order}`,
    [...rows.values, limit + 1, ...place],
  )
  const found = result.rows.slice(1)
  const last = found.length > limit ? found[limit - 1] : undefined
  const page = {
    data: found.slice(0, limit).map((row) => groupJson(row, columns, more)),
    has_more: last !== undefined,
    next: last === undefined ? null : cursorOf(last, columns),
  }
  return { total: wholeOf(result.rows), page }
}

function groupJson(row: GroupRow, columns: readonly Column[], more: readonly string[]) {
  const members = columns.map(({ member, json }, i) => [member, json(String(row[`c${i}`]))] as const)
  const moreSums = Object.fromEntries(more.map((name) => [name, row[name]]))
  return { object: 'usage' as const, ...Object.fromEntries(members), ...sumsJson(row), ...moreSums }
}

function cursorOf(row: GroupRow, columns: readonly Column[]): string {
  const place = columns.map(({ isPeriod }, i) => (isPeriod ? -Number(row[`c${i}`]) : row[`c${i}`]))
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** @throws GatewayError when it is not the cursor of a page with these groups */
function readCursor(text: string, columns: readonly Column[]): readonly (string | number)[] {
  const place = parsed(text)
  const fits =
    Array.isArray(place) &&
    place.length === columns.length &&
    place.every((value, i) =>
      columns[i]?.isPeriod === true ? isPeriodNumber(value) : typeof value === 'string' && !value.includes('\0'),
    )
  if (fits) return place as (string | number)[]
  throw invalidRequest('after must be what the page before gave as next, with the same group_by.', 'after')
}

const isPeriodNumber = (value: unknown): boolean => Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31

function parsed(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}
