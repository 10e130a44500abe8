/** A cell of CSV (RFC 4180); a text that a spreadsheet would take for a formula is marked as text. */
export function csvCell(value: string | number | boolean): string {
  const text = String(value)
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-[\d.]+$/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
