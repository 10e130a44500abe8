/**
 * Columns as a query names them, each answered under its name in camel case, so that rows have the members that the code
 * uses: 'id, w.job_id' becomes 'id, w.job_id AS "jobId"'.
 */
export function camelColumns(columns: string): string {
  return columns
    .split(',')
    .map((column) => column.trim())
    .map((column) => {
      const name = column.slice(column.indexOf('.') + 1)
      const camel = camelName(name)
      return camel === name ? column : `${column} AS "${camel}"`
    })
    .join(', ')
}

/**
 * Columns of times as `camelColumns` has others, each as milliseconds since 1970: 'ended_at' becomes
 * 'floor(extract(epoch FROM ended_at) * 1000)::bigint AS "endedAtMs"'. Nulls stay null.
 */
export function msColumns(columns: string): string {
  return columns
    .split(',')
    .map((column) => column.trim())
    .map((column) => {
      const name = column.slice(column.indexOf('.') + 1)
      return `floor(extract(epoch FROM ${column}) * 1000)::bigint AS "${camelName(name)}Ms"`
    })
    .join(', ')
}

/** Columns of amounts beyond what a number holds, each as text: 'net_units' becomes 'net_units::text AS "netUnits"'. */
export function textColumns(columns: string): string {
  return columns
    .split(',')
    .map((column) => column.trim())
    .map((column) => `${column}::text AS "${camelName(column.slice(column.indexOf('.') + 1))}"`)
    .join(', ')
}

/** A row that was written as JSON by the names of its columns, by their names in camel case. */
export function camelMembers<Row>(row: object): Row {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [camelName(name), value])) as Row
}

function camelName(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
