import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { intArray, textArray } from '../../runtime/db/arrays.ts'
import { hourSumsOf, outcomesOf, tagSumsOf, uncountedReceipts } from './receiptSums.ts'
import { HOUR_SUM_COLUMNS, SUM_COLUMNS } from './usageSums.ts'

const HOURS_OF_DAY = 24

/** Rows of sums: SQL of a FROM clause that names them `used`, and the values of its parameters. */
export interface UsageRows {
  readonly sql: string
  readonly values: readonly unknown[]
  /** Columns of sums that most rows do not have. */
  readonly more?: readonly string[]
}

/** Which usage; days since 1970, UTC, both of which are part of it. */
export interface UsageScope {
  /** Undefined for all. */
  readonly accountIds: readonly string[] | undefined
  readonly fromDay: number
  readonly toDay: number
}

/** SQL that chooses accounts by $1. */
const accountsIn = ({ accountIds }: UsageScope, column: string): string =>
  accountIds === undefined ? '$1::text[] IS NULL' : `${column} = ANY ($1::text[])`

const accountsArray = ({ accountIds }: UsageScope): string | null =>
  accountIds === undefined ? null : textArray(accountIds)

/** The usage logs that receipts of accounts are in, for uncounted ones. */
const logsArray = ({ accountIds }: UsageScope): string | null =>
  accountIds === undefined ? null : intArray([...new Set(accountIds.map(shardOf))])

/** SQL that chooses the logs of accounts by a parameter. */
const logsIn = ({ accountIds }: UsageScope, parameter: string): string =>
  accountIds === undefined ? `${parameter}::smallint[] IS NULL` : `c.log = ANY (${parameter}::smallint[])`

const COLUMNS = SUM_COLUMNS.join(', ')

/** Sums by day, key and model. */
export function dayRows(
  scope: UsageScope,
  filter: { readonly model: string; readonly keyId: string; readonly platformKeyId: string },
): UsageRows {
  return {
    sql: `usage_days used WHERE ${accountsIn(scope, 'used.account_id')} AND used.day BETWEEN $2 AND $3
      AND ($4 = '' OR used.model = $4) AND ($5 = '' OR used.key_id = $5)
      AND ($6 = '' OR used.key_id IN (SELECT k.key_id FROM sub_keys k WHERE k.platform_key_id = $6))`,
    values: [accountsArray(scope), scope.fromDay, scope.toDay, filter.model, filter.keyId, filter.platformKeyId],
  }
}

/** Sums by day, model, provider and outcome. */
export function outcomeRows(scope: UsageScope, { model }: { readonly model: string }): UsageRows {
  const uncounted = uncountedReceipts(
    'usage_outcomes',
    `${logsIn(scope, '$5')} AND ${accountsIn(scope, 'r.account_id')}`,
  )
  const parts = ['usage_outcomes', `(${outcomesOf(uncounted)}) AS uncounted`].map(
    (rows) => `SELECT account_id, day, model, provider, outcome, ${COLUMNS} FROM ${rows}
      WHERE ${accountsIn(scope, 'account_id')} AND day BETWEEN $2 AND $3 AND ($4 = '' OR model = $4)`,
  )
  return {
    sql: `(${parts.join(' UNION ALL ')}) AS used`,
    values: [accountsArray(scope), scope.fromDay, scope.toDay, model, logsArray(scope)],
  }
}

/** Sums of all accounts by hour, model, provider and outcome. */
export function hourRows({ fromDay, toDay }: UsageScope, { model }: { readonly model: string }): UsageRows {
  const uncounted = hourSumsOf(uncountedReceipts('usage_hours', 'true'))
  const parts = ['usage_hours', `(${uncounted}) AS uncounted`].map(
    (
      rows,
    ) => `SELECT hour / ${HOURS_OF_DAY} AS day, hour, provider, model, outcome, ${HOUR_SUM_COLUMNS.join(', ')} FROM ${rows}
      WHERE hour BETWEEN $1::integer * ${HOURS_OF_DAY} AND $2::integer * ${HOURS_OF_DAY} + ${HOURS_OF_DAY - 1} AND ($3 = '' OR model = $3)`,
  )
  return {
    sql: `(${parts.join(' UNION ALL ')}) AS used`,
    values: [fromDay, toDay, model],
    more: HOUR_SUM_COLUMNS.slice(SUM_COLUMNS.length),
  }
}

/** SQL of the day of a period, and of its hour where it is one. */
const periods = (hours: 1 | 24): string => `period / ${HOURS_OF_DAY / hours} AS day, period AS hour`

/** SQL that chooses the periods of the days from $2 to $3. */
const isWithin = (hours: 1 | 24): string => {
  const ofDay = HOURS_OF_DAY / hours
  return `hours = ${hours} AND period BETWEEN $2::integer * ${ofDay} AND $3::integer * ${ofDay} + ${ofDay - 1}`
}

/** Sums by tag or user, of hours where a group is by hour, else of days; '' are those beyond the bound of a period. */
export function tagRows(scope: UsageScope, { groupBy }: { readonly groupBy: readonly string[] }): UsageRows {
  const hours = groupBy.includes('hour') ? 1 : HOURS_OF_DAY
  const uncounted = uncountedReceipts('usage_tags', `${logsIn(scope, '$5')} AND ${accountsIn(scope, 'r.account_id')}`)
  const parts = ['usage_tags', `(${tagSumsOf(uncounted)}) AS uncounted`].map(
    (rows) => `SELECT account_id, ${periods(hours)}, value, ${COLUMNS} FROM ${rows}
      WHERE ${accountsIn(scope, 'account_id')} AND kind = $4 AND ${isWithin(hours)}`,
  )
  return {
    sql: `(${parts.join(' UNION ALL ')}) AS used`,
    values: [
      accountsArray(scope),
      scope.fromDay,
      scope.toDay,
      groupBy.includes('user') ? 'user' : 'tag',
      logsArray(scope),
    ],
  }
}
