/**
 * Text of a PostgreSQL array of integers. Built by hand because the general conversion of the driver costs more than the
 * rest of a settlement batch together. https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
 */
export function intArray(values: readonly number[]): string {
  return `{${values.join(',')}}`
}

/** Text of a PostgreSQL array of strings, each of them quoted. */
export function textArray(values: readonly string[]): string {
  let text = '{'
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? ''
    const quoted = /["\\]/.test(value) ? value.replace(/["\\]/g, '\\$&') : value
    text += i === 0 ? `"${quoted}"` : `,"${quoted}"`
  }
  return `${text}}`
}

/** Text of a PostgreSQL array of byte strings in hex format. */
export function byteaArray(values: readonly Buffer[]): string {
  return `{${values.map((value) => `"\\\\x${value.toString('hex')}"`).join(',')}}`
}

/** Text of a PostgreSQL array of booleans. */
export function boolArray(values: readonly boolean[]): string {
  return `{${values.join(',')}}`
}
