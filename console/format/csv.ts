/** A cell of CSV (RFC 4180); a text that a spreadsheet would take for a formula is marked as text. */
function cell(value: string | number): string {
  const text = String(value)
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-[\d.]+$/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Rows as CSV, the names of the columns first. */
export function csvText(names: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [names, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('')
}
