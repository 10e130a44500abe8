const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/**
 * When an id was made, by the clock of who made it.
 * @param id as `newId` makes them: prefix, underscore, ULID
 * @returns milliseconds since 1970
 */
export function idTimeMs(id: string): number {
  const start = id.indexOf('_') + 1
  let ms = 0
  for (const character of id.slice(start, start + 10)) ms = ms * 32 + CROCKFORD.indexOf(character)
  return ms
}
