/**
 * Canonical JSON (RFC 8785, JCS): members sorted by UTF-16 code units, no white space, and otherwise the output of
 * JSON.stringify, by which the standard is defined.
 * @param value made of JSON types; members that are undefined are left out
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  members.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`
}
