const MS_PER_SECOND = 1_000

let lastSecond = Number.NaN
let lastText = ''

/**
 * A time as `Date.toISOString` has it, without another Date for each of the many times within one second.
 * @param ms whole milliseconds since 1970
 */
export function isoTime(ms: number): string {
  const rest = ms % MS_PER_SECOND
  const second = ms - rest
  if (second !== lastSecond) {
    lastText = new Date(second).toISOString().slice(0, -4)
    lastSecond = second
  }
  return `${lastText}${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}Z`
}
