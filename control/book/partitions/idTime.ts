const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_DIGITS = 10

/**
 * When an id was made, by the clock of its maker.
 * @param id as `newId` makes them: prefix, underscore, ULID
 * @returns milliseconds since 1970
 */
export function idTimeMs(id: string): number {
  const start = id.indexOf('_') + 1
  let ms = 0
  for (const character of id.slice(start, start + TIME_DIGITS)) ms = ms * 32 + CROCKFORD.indexOf(character)
  return ms
}

/** The least id of that time, of a request unless another prefix is given. @param ms since 1970 */
export function idBound(ms: number, prefix = 'req'): string {
  let text = ''
  for (let rest = Math.max(0, ms), i = 0; i < TIME_DIGITS; i++, rest = Math.floor(rest / 32)) {
    text = CROCKFORD[rest % 32] + text
  }
  return `${prefix}_${text}`
}

/** The first moment of the month that is a number of months after the one of a moment; milliseconds since 1970, UTC. */
export function monthStartMs(ms: number, months = 0): number {
  const at = new Date(ms)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months)
}
