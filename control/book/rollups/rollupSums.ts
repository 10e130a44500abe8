import { SUM_COLUMNS } from '../usage/usageSums.ts'

/** Columns that name a row of usage_rollups. */
export const ROLLUP_KEYS = ['account_id', 'span', 'kind', 'period', 'name', 'model'] as const

const NONE = `'' COLLATE "C"`

/** Rows of usage_rollups: of which sums each is made, with SQL of its columns. The trigger roll_up_late_usage has the same ones. */
const ROLLUPS = [
  { sums: 'days', span: 'day', kind: `'all'`, name: NONE, model: NONE },
  { sums: 'days', span: 'day', kind: `'key'`, name: 'key_id', model: NONE },
  { sums: 'days', span: 'day', kind: `'model'`, name: NONE, model: 'model' },
  { sums: 'days', span: 'month', kind: `'key'`, name: 'key_id', model: NONE },
  { sums: 'days', span: 'month', kind: `'model'`, name: NONE, model: 'model' },
  { sums: 'days', span: 'month', kind: `'key_model'`, name: 'key_id', model: 'model' },
  { sums: 'outcomes', span: 'day', kind: `'outcome'`, name: 'outcome', model: NONE },
  { sums: 'outcomes', span: 'month', kind: `'outcome'`, name: 'outcome', model: 'model' },
  { sums: 'tags', span: 'month', kind: 'kind', name: 'value', model: NONE },
] as const

/** SQL of tables with the columns of usage_days, usage_outcomes and usage_tags, of which the latter has days alone. */
export type RolledUpSums = Readonly<Record<(typeof ROLLUPS)[number]['sums'], string>>

const SUMS = SUM_COLUMNS.map((column) => `bigint_sum(${column}) AS ${column}`).join(', ')

/** SQL of the rollups of sums, with the columns of usage_rollups. */
export function rollupsOf(tables: RolledUpSums): string {
  return ROLLUPS.map(({ sums, span, kind, name, model }) => {
    const day = sums === 'tags' ? 'period' : 'day'
    return `
      SELECT account_id, '${span}' COLLATE "C" AS span, ${kind} COLLATE "C" AS kind,
        ${span === 'day' ? day : `first_of_month(${day})`} AS period, ${name} AS name, ${model} AS model, ${SUMS}
      FROM ${tables[sums]} AS s GROUP BY 1, 2, 3, 4, 5, 6`
  }).join(' UNION ALL ')
}
