/**
 * Text of a PostgreSQL array of integers. Built by hand because the general conversion of the driver costs more than the
 * rest of a settlement batch together. https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
 */
export function intArray(values: ReadonlyArray<number | bigint>): string {
  return `{${values.join(',')}}`
}

const SPECIAL = /["\\]/

/** Text of a PostgreSQL array of strings, each of them quoted. */
export function textArray(values: readonly string[]): string {
  if (values.length === 0) return '{}'
  // Almost no stored value needs escapes, so one test covers all of them together.
  const escaped = SPECIAL.test(values.join('')) ? values.map((value) => value.replace(/["\\]/g, '\\$&')) : values
  return `{"${escaped.join('","')}"}`
}

/** Text of a PostgreSQL array of byte strings in hex format. */
export function byteaArray(values: readonly Buffer[]): string {
  return `{${values.map((value) => `"\\\\x${value.toString('hex')}"`).join(',')}}`
}

/** Text of a PostgreSQL array of booleans. */
export function boolArray(values: readonly boolean[]): string {
  return `{${values.join(',')}}`
}
