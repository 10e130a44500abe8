import { invalidRequest } from '../../../contract/errors/errors.ts'
import { decoded, tagsOf } from '../../../contract/money/tags.ts'
import { isId } from '../../../contract/wire/ids.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { type Days, monthSql, periodText } from './periods.ts'
import type { UsageRows } from './usageRows.ts'
import { SUM_COLUMNS, SUMS, sumsJson, type UsageSums, wholeOf } from './usageSums.ts'

interface Column {
  /** Of the rows `used`. */
  readonly sql: string
  /** SQL of what is shown, where it is looked up by the column. */
  shown?(column: string): string
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

const platformKey: Column = {
  ...text('used.key_id', 'platform_key_id', orNull),
  shown: (column) => `coalesce((SELECT s.platform_key_id FROM sub_keys s WHERE s.key_id = ${column}), '')`,
}

const COLUMNS = {
  hour: period('hour', 'used.hour'),
  day: period('day', 'used.day'),
  month: period('month', ''),
  account: text('used.account_id', 'account_id'),
  agent: text('used.account_id', 'agent_id', (id) => (isId('agt', id) ? id : null)),
  key: text('used.key_id', 'key_id'),
  platform_key: platformKey,
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

export type GroupRow = UsageSums & { readonly [column: string]: string | number }

export interface UsagePage {
  readonly data: readonly (ReturnType<typeof sumsJson> & Readonly<Record<string, unknown>>)[]
  readonly has_more: boolean
  readonly next: string | null
}

/** The groups of a page, which begins behind another. */
export class UsageGroups {
  /** Where the page before ended: a value for each group, periods negated; empty for the first page. */
  readonly place: readonly (string | number)[]
  private readonly columns: readonly Column[]
  // Negated, the latest period comes first in the same order as the other columns, so that one comparison pages.
  private readonly order: string

  /**
   * @param after `next` of the page before, or ''
   * @param days all that are asked for
   * @throws GatewayError for an invalid cursor
   */
  constructor(groupBy: readonly UsageGroup[], after: string, days: Days) {
    this.columns = groupBy.map(
      (group): Column => (group === 'month' ? { ...COLUMNS.month, sql: monthSql('used.day', days) } : COLUMNS[group]),
    )
    this.order = this.columns.map(({ isPeriod }, i) => (isPeriod ? `-c${i}` : `c${i}`)).join(', ')
    this.place = after === '' ? [] : readCursor(after, this.columns)
  }

  /** The sums of all rows, and a page of those of their groups in their order, in one pass. */
  async whole(
    db: Queryable,
    rows: UsageRows,
    limit: number,
  ): Promise<{ readonly total: UsageSums; readonly page: UsagePage }> {
    const more = rows.more ?? []
    const sums = [SUMS, ...more.map((name) => `coalesce(sum(${name}), 0) AS ${name}`)].join(', ')
    const { sql, values } = this.pageOf('groups', rows, limit + 1)
    const result = await db.query<GroupRow>(
      `WITH groups AS MATERIALIZED (${this.groupsOf(rows, 'sum')})
       SELECT * FROM (
         SELECT true AS is_total, ${this.columns.map((_, i) => `NULL AS c${i}`).join(', ')}, ${sums} FROM groups
         UNION ALL SELECT false, page.* FROM (${sql}) AS page
       ) AS found ORDER BY is_total DESC, ${this.order}`,
      values,
    )
    return { total: wholeOf(result.rows), page: this.json(result.rows.slice(1), limit, more) }
  }

  /** The first groups of some rows of one account behind the place, at most this many. */
  async first(db: Queryable, rows: UsageRows, most: number): Promise<GroupRow[]> {
    const { sql, values } = this.pageOf(`(${this.groupsOf(rows, 'bigint_sum')}) AS groups`, rows, most)
    return (await db.query<GroupRow>(sql, values)).rows
  }

  /** @param found the groups of the page, and the next one if there is any */
  json(found: readonly GroupRow[], limit: number, more: readonly string[] = []): UsagePage {
    const last = found.length > limit ? found[limit - 1] : undefined
    return {
      data: found.slice(0, limit).map((row) => groupJson(row, this.columns, more)),
      has_more: last !== undefined,
      next: last === undefined ? null : cursorOf(last, this.columns),
    }
  }

  /** SQL of all groups of rows. A column that is looked up is so once for each of its values. */
  private groupsOf(rows: UsageRows, sum: 'sum' | 'bigint_sum'): string {
    const numbers = this.columns.map((_, i) => i + 1).join(', ')
    const sums = [...SUM_COLUMNS, ...(rows.more ?? [])].map((name) => `${sum}(${name}) AS ${name}`).join(', ')
    const groups = (columns: readonly string[], from: string): string =>
      `SELECT ${columns.map((sql, i) => `${sql} AS c${i}`).join(', ')}, ${sums} FROM ${from} GROUP BY ${numbers}`
    const known = groups(
      this.columns.map(({ sql }) => sql),
      rows.sql,
    )
    const place = this.columns.findIndex(({ shown }) => shown !== undefined)
    const shown = this.columns[place]?.shown?.('value')
    if (shown === undefined) return known
    return `WITH known AS MATERIALIZED (${known}), looked AS MATERIALIZED (
        SELECT value, ${shown} AS shown FROM (SELECT DISTINCT c${place} AS value FROM known) AS each
      ) ${groups(
        this.columns.map((_, i) => (i === place ? 'looked.shown' : `c${i}`)),
        `known JOIN looked ON looked.value = c${place}`,
      )}`
  }

  private pageOf(groups: string, { values, more = [] }: UsageRows, most: number): { sql: string; values: unknown[] } {
    const first = values.length + 2
    const behind =
      this.place.length === 0 ? '' : `WHERE (${this.order}) > (${this.place.map((_, i) => `$${first + i}`).join(', ')})`
    const sums = [...SUM_COLUMNS, ...more].map((name) => (name === 'units' ? 'units::text AS units' : name)).join(', ')
    return {
      sql: `SELECT ${this.columns.map((_, i) => `c${i}`).join(', ')}, ${sums} FROM ${groups} ${behind}
            ORDER BY ${this.order} LIMIT $${first - 1}`,
      values: [...values, most, ...this.place],
    }
  }
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
