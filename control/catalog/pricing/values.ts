import { parseUsd } from '../../../contract/money/units.ts'
import type { Field, YamlReader } from './yamlReader.ts'

const TEXT_LENGTH_MAX = 200
const TOKENS_MAX = 1_000_000_000

/** A text of one line; '' after a problem or when the field is missing. */
export function textOf(reader: YamlReader, field: Field | undefined): string {
  if (field === undefined) return ''
  const value = reader.scalar(field)
  if (typeof value === 'string' && value.length > 0 && value.length <= TEXT_LENGTH_MAX && !/\p{Cc}/u.test(value)) {
    return value
  }
  reader.problem(field, `must be a text of 1 to ${TEXT_LENGTH_MAX} characters on one line`)
  return ''
}

/** An id that is safe in URLs, in Redis values and in lists of ids. */
export function idOf(reader: YamlReader, field: Field | undefined): string {
  if (field === undefined) return ''
  const value = reader.scalar(field)
  if (typeof value === 'string' && /^[A-Za-z0-9._/-]{1,128}$/.test(value)) return value
  reader.problem(field, 'must be an id of 1 to 128 letters, digits, ".", "_", "/" or "-"')
  return ''
}

/** The name of an environment variable, or '' when the field is missing. */
export function variableOf(reader: YamlReader, field: Field | undefined): string {
  if (field === undefined) return ''
  const value = reader.scalar(field)
  if (typeof value === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(value)) return value
  reader.problem(field, 'must be the name of an environment variable such as ACME_API_KEY, not the key itself')
  return ''
}

/** An http(s) address without a slash at its end. */
export function addressOf(reader: YamlReader, field: Field | undefined): string {
  if (field === undefined) return ''
  const value = reader.scalar(field)
  const url = typeof value === 'string' ? tryUrl(value) : null
  const plain = url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === ''
  if (url !== null && plain && (url.protocol === 'http:' || url.protocol === 'https:'))
    return url.href.replace(/\/+$/, '')
  reader.problem(field, 'must be an http or https address without query or password, such as "https://api.acme.com/v1"')
  return ''
}

function tryUrl(text: string): URL | null {
  try {
    return new URL(text)
  } catch {
    return null
  }
}

export function booleanOf(reader: YamlReader, field: Field | undefined, fallback: boolean): boolean {
  if (field === undefined) return fallback
  const value = reader.scalar(field)
  if (typeof value === 'boolean') return value
  reader.problem(field, 'must be true or false')
  return fallback
}

/** A whole number from 1 to a thousand million. */
export function tokensOf(reader: YamlReader, field: Field | undefined, fallback = 0): number {
  if (field === undefined) return fallback
  const value = reader.scalar(field)
  if (typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= TOKENS_MAX) return value
  reader.problem(field, `must be a positive whole number up to ${TOKENS_MAX}`)
  return fallback
}

/** One of a fixed list of words. */
export function choiceOf<T extends string>(
  reader: YamlReader,
  field: Field | undefined,
  choices: readonly T[],
): T | undefined {
  if (field === undefined) return undefined
  const value = reader.scalar(field)
  const found = choices.find((choice) => choice === value)
  if (found === undefined) reader.problem(field, `must be one of: ${choices.join(', ')}`)
  return found
}

/** A decimal string of USD, in units. Numbers are refused because YAML would read them as floats. */
export function usdOf(reader: YamlReader, field: Field): number {
  const value = reader.scalar(field)
  const units = typeof value === 'string' ? parseUsd(value) : undefined
  if (units !== undefined) return units
  reader.problem(
    field,
    'must be a decimal string of USD such as "0.15" (in quotes, at most nine digits after the point)',
  )
  return 0
}
