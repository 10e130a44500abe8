/** Resolves a JSON Pointer (RFC 6901); undefined if it leads nowhere. */
export function valueAt(document: unknown, pointer: string): unknown {
  let value = document
  for (const segment of pointer.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return undefined
    const name = segment.replaceAll('~1', '/').replaceAll('~0', '~')
    value = Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined
  }
  return value
}
