/** Rows under their headings, columns aligned; cells that are numbers are right-aligned. */
export function table(headings: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const widths = headings.map((heading, column) => {
    return Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0))
  })
  const numeric = headings.map((_, column) => rows.every((row) => /^-?[\d.]*$/.test(row[column] ?? '')))
  const line = (cells: readonly string[]) =>
    widths
      .map((width, column) =>
        numeric[column] ? (cells[column] ?? '').padStart(width) : (cells[column] ?? '').padEnd(width),
      )
      .join('  ')
      .trimEnd()
  return [line(headings), ...rows.map(line)].join('\n')
}

/** Names and values of one thing, one per line. */
export function facts(entries: ReadonlyArray<readonly [name: string, value: string]>): string {
  const width = Math.max(...entries.map(([name]) => name.length)) + 2
  return entries.map(([name, value]) => `${`${name}:`.padEnd(width)}${value}`).join('\n')
}
