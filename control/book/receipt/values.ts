/** The longest text that is booked. */
const TEXT_MAX = 256
/** The largest of PostgreSQL's integer. */
export const INT4_MAX = 2_147_483_647
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/

/** Why an entry cannot be booked. */
export class Malformed extends Error {}

/** @throws Malformed where it is empty, too long or has control characters */
export function identifier(name: string, value: string): string {
  if (value === '') throw new Malformed(`${name} is empty`)
  return printable(name, value)
}

/** @throws Malformed where it is too long or has control characters */
export function printable(name: string, value: string, max: number = TEXT_MAX): string {
  if (value === '') return value
  if (value.length > max) throw new Malformed(`${name} is longer than ${max} characters`)
  if (CONTROL_CHARACTER.test(value)) throw new Malformed(`${name} has control characters`)
  return value
}

/** @throws Malformed where it is no amount up to `max` */
export function amount(name: string, value: number, max: number = Number.MAX_SAFE_INTEGER): number {
  if (!Number.isSafeInteger(value) || value < 0 || value > max) throw new Malformed(`${name} is out of range: ${value}`)
  return value
}

/** An amount in decimal. @throws Malformed where it is less than `least`, or not one */
export function integer(name: string, digits: string, least: number): number {
  const number = Number(digits)
  if (!/^-?\d{1,16}$/.test(digits) || !Number.isSafeInteger(number) || number < least) throw notAmount(name, digits)
  return number
}

/** The error of a field whose text is not an amount. */
export function notAmount(name: string, text: string): Malformed {
  return new Malformed(`field ${name} is not an amount: ${text.slice(0, TEXT_MAX)}`)
}

/** The name of an enum's number. @throws Malformed where it has none */
export function named<Name extends string>(name: string, names: ReadonlyMap<number, Name>, value: number): Name {
  const found = names.get(value)
  if (found === undefined) throw new Malformed(`${name} is unknown: ${value}`)
  return found
}
