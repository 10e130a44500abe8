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
      const camel = name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
      return camel === name ? column : `${column} AS "${camel}"`
    })
    .join(', ')
}
