import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { intArray, textArray } from '../../runtime/db/arrays.ts'
import type { Days } from './periods.ts'
import { hourSumsOf, outcomesOf, tagSumsOf, uncountedReceipts } from './receiptSums.ts'
import { spansOf, type UsageSpan } from './usageSpans.ts'
import { HOUR_SUM_COLUMNS, SUM_COLUMNS } from './usageSums.ts'

const HOURS_OF_DAY = 24

/** Rows of sums: SQL of a FROM clause that names them `used`, and the values of its parameters. */
export interface UsageRows {
  readonly sql: string
  readonly values: readonly unknown[]
  /** Columns of sums that most rows do not have. */
  readonly more?: readonly string[]
}

/** Whose usage, and of which days. */
export interface UsageScope extends Days {
  /** Undefined for all. */
  readonly accountIds: readonly string[] | undefined
  /** Of these accounts the days before `untilDay` are rolled up. */
  readonly rolledUp: readonly string[]
  /** Days since 1970, UTC. */
  readonly untilDay: number
}

/** Only of this model, this key, or the sub-keys of this platform key; '' for all. */
export interface UsageFilter {
  readonly model: string
  readonly keyId: string
  readonly platformKeyId: string
}

/** The names that rows have, beside the account and the day. */
export interface RowNames {
  readonly keys: boolean
  readonly models: boolean
  /** Whether days of one month may be one row. */
  readonly byMonth: boolean
  /** Only these, where the names are too many to be read together. */
  readonly among?: { readonly column: 'key_id' | 'model'; readonly values: readonly string[] }
}

/** The parameters of a statement. */
class Parameters {
  readonly values: unknown[] = []

  /** @returns SQL of the parameter */
  add(value: unknown): string {
    this.values.push(value)
    return `$${this.values.length}`
  }

  /** SQL that chooses accounts; undefined for all. */
  accounts(ids: readonly string[] | undefined, column = 'account_id'): string {
    if (ids === undefined) return 'true'
    const [first, ...others] = ids
    if (first !== undefined && others.length === 0) return `${column} = ${this.add(first)}`
    return `${column} = ANY (${this.add(textArray(ids))}::text[])`
  }

  /** SQL that chooses the usage logs that receipts of accounts are in, for uncounted ones. */
  logs(ids: readonly string[] | undefined): string {
    return ids === undefined
      ? 'true'
      : `c.log = ANY (${this.add(intArray([...new Set(ids.map(shardOf))]))}::smallint[])`
  }

  between(column: string, first: number, last: number): string {
    return `${column} BETWEEN ${this.add(first)}::integer AND ${this.add(last)}::integer`
  }
}

const COLUMNS = SUM_COLUMNS.join(', ')
/** Of rows whose sums are numeric. */
const AS_INTEGERS = SUM_COLUMNS.map((name) => `${name}::bigint`).join(', ')

const rowsOf = (parts: readonly string[], { values }: Parameters): UsageRows => ({
  sql: `(${parts.join(' UNION ALL ')}) AS used`,
  values,
})

/** SQL of the receipts of a scope that sums do not have yet. */
function uncountedOf(
  sums: 'usage_outcomes' | 'usage_tags',
  { accountIds }: UsageScope,
  parameters: Parameters,
): string {
  const where = `${parameters.logs(accountIds)} AND ${parameters.accounts(accountIds, 'r.account_id')}`
  return uncountedReceipts(sums, where)
}

/** The spans of a scope, with the accounts that each is of. */
function placesOf(
  scope: UsageScope,
  byMonth: boolean,
): { span: UsageSpan; accountIds: readonly string[] | undefined }[] {
  const { accountIds, rolledUp, untilDay } = scope
  const others = accountIds?.filter((id) => !rolledUp.includes(id))
  const rolled = rolledUp.length === 0 ? [] : spansOf(scope, untilDay, byMonth)
  return [
    ...rolled.map((span) => ({ span, accountIds: rolledUp })),
    ...(others === undefined || others.length > 0 ? spansOf(scope, 0, false) : []).map((span) => ({
      span,
      accountIds: others,
    })),
  ]
}

/** Sums by day, or month, key and model. */
export function dayRows(scope: UsageScope, filter: UsageFilter, names: RowNames): UsageRows {
  const parameters = new Parameters()
  const { keys, models } = namesWith(names, filter)
  const kind = [keys && 'key', models && 'model'].filter(Boolean).join('_') || 'all'
  const filtered = (key: string, model: string): string =>
    [
      filter.model !== '' && `${model} = ${parameters.add(filter.model)}`,
      filter.keyId !== '' && `${key} = ${parameters.add(filter.keyId)}`,
      filter.platformKeyId !== '' &&
        `${key} IN (SELECT k.key_id FROM sub_keys k WHERE k.platform_key_id = ${parameters.add(filter.platformKeyId)})`,
      names.among !== undefined &&
        `${names.among.column === 'model' ? model : key} = ANY (${parameters.add(textArray(names.among.values))}::text[])`,
    ]
      .filter((sql) => sql !== false)
      .map((sql) => ` AND ${sql}`)
      .join('')
  // Days of all keys have few rows, and those of each key with each model are the sums themselves.
  const parts = placesOf(scope, names.byMonth && kind !== 'all').map(({ span, accountIds }) => {
    const { source, fromDay, toDay } = span
    const isRolledUp = source === 'month' || (source === 'day' && kind !== 'key_model')
    return isRolledUp
      ? `SELECT account_id, period AS day, name AS key_id, model, ${COLUMNS} FROM usage_rollups
         WHERE ${parameters.accounts(accountIds)} AND span = '${source}' AND kind = '${kind}'
           AND ${parameters.between('period', fromDay, toDay)}${filtered('name', 'model')}`
      : `SELECT account_id, day, key_id, model, ${COLUMNS} FROM usage_days
         WHERE ${parameters.accounts(accountIds)} AND ${parameters.between('day', fromDay, toDay)}${filtered('key_id', 'model')}`
  })
  return rowsOf(parts, parameters)
}

/** With the names by which usage is chosen. */
const namesWith = ({ keys, models }: RowNames, filter: UsageFilter): { keys: boolean; models: boolean } => ({
  keys: keys || filter.keyId !== '' || filter.platformKeyId !== '',
  models: models || filter.model !== '',
})

/** Sums by day, model, provider and outcome; rolled up, by day and outcome, or month, model and outcome. */
export function outcomeRows(
  scope: UsageScope,
  { model }: { readonly model: string },
  { models, byMonth }: Pick<RowNames, 'models' | 'byMonth'>,
): UsageRows {
  const parameters = new Parameters()
  const hasModels = models || model !== ''
  const ofModel = (): string => (model === '' ? '' : ` AND model = ${parameters.add(model)}`)
  const sums = (
    rows: string,
    accountIds: readonly string[] | undefined,
    { fromDay, toDay }: Days,
    columns = COLUMNS,
  ): string =>
    `SELECT account_id, day, model, provider, outcome, ${columns} FROM ${rows}
     WHERE ${parameters.accounts(accountIds)} AND ${parameters.between('day', fromDay, toDay)}${ofModel()}`
  const counted = placesOf(scope, byMonth).map(({ span, accountIds }) =>
    span.source === 'month' || (span.source === 'day' && !hasModels)
      ? `SELECT account_id, period AS day, model, '' AS provider, name AS outcome, ${COLUMNS} FROM usage_rollups
         WHERE ${parameters.accounts(accountIds)} AND span = '${span.source}' AND kind = 'outcome'
           AND ${parameters.between('period', span.fromDay, span.toDay)}${ofModel()}`
      : sums('usage_outcomes', accountIds, span),
  )
  const uncounted = outcomesOf(uncountedOf('usage_outcomes', scope, parameters))
  return rowsOf([...counted, sums(`(${uncounted}) AS uncounted`, scope.accountIds, scope, AS_INTEGERS)], parameters)
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

/** Sums by tag or user, of hours where a group is by hour, else of days or months; '' are those beyond the bound of a period. */
export function tagRows(scope: UsageScope, groupBy: readonly string[], byMonth: boolean): UsageRows {
  const parameters = new Parameters()
  const kind = groupBy.includes('user') ? 'user' : 'tag'
  const hours = groupBy.includes('hour') ? 1 : HOURS_OF_DAY
  const ofDay = HOURS_OF_DAY / hours
  const sums = (
    rows: string,
    accountIds: readonly string[] | undefined,
    { fromDay, toDay }: Days,
    columns = COLUMNS,
  ): string =>
    `SELECT account_id, period / ${ofDay} AS day, period AS hour, value, ${columns} FROM ${rows}
     WHERE ${parameters.accounts(accountIds)} AND kind = '${kind}' AND hours = ${hours}
       AND ${parameters.between('period', fromDay * ofDay, toDay * ofDay + ofDay - 1)}`
  const counted = placesOf(scope, byMonth).map(({ span, accountIds }) =>
    span.source === 'month'
      ? `SELECT account_id, period AS day, period AS hour, name AS value, ${COLUMNS} FROM usage_rollups
         WHERE ${parameters.accounts(accountIds)} AND span = 'month' AND kind = '${kind}'
           AND ${parameters.between('period', span.fromDay, span.toDay)}`
      : sums('usage_tags', accountIds, span),
  )
  const uncounted = tagSumsOf(uncountedOf('usage_tags', scope, parameters))
  return rowsOf([...counted, sums(`(${uncounted}) AS uncounted`, scope.accountIds, scope, AS_INTEGERS)], parameters)
}
