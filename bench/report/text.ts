import { median } from './figures.ts'

/** Shown where nothing was measured. */
export const NOTHING = '-'

/** Two digits after the point below ten, one above. */
export function digits(value: number): string {
  return value.toFixed(Math.abs(value) < 10 ? 2 : 1)
}

/** A whole number with thousands apart. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** Bytes as MiB. */
export function mebibytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(0)} MiB`
}

/** The median with the lowest and the highest in brackets. */
export function spread(list: readonly number[]): string {
  if (list.length === 0) return NOTHING
  if (list.length === 1) return digits(median(list))
  return `${digits(median(list))} (${digits(Math.min(...list))} to ${digits(Math.max(...list))})`
}

/** The median of ratios, such as 3.48x. */
export function times(list: readonly number[]): string {
  return list.length === 0 ? NOTHING : `${digits(median(list))}x`
}

/** A table in Markdown; the first column is to the left, the others to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}

/** A section with its heading, or nothing when there is nothing in it. */
export function section(heading: string, ...parts: readonly string[]): string {
  const filled = parts.filter((part) => part !== '')
  return filled.length === 0 ? '' : `## ${heading}\n\n${filled.join('\n\n')}`
}
