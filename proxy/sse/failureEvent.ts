import { isJsonObject } from '../../contract/std/jsonObject.ts'
import { parseBytes } from './sseText.ts'

const LETTER_E = 101
const LETTER_R = 114
const ERROR_EVENT_BYTES = 'event: error'.length
const FIELD = /^(event|error): ?/
/** An error is flat, and longer ones are no use to anybody. */
const FAILURE_BYTES_MAX = 16_384
/** The members of an event that is read as it is: a failure in a known form, or an answer. */
const KNOWN = ['error', 'errors', 'choices', 'type', 'object', 'usage']
/** The end of a stream, and values that say nothing. */
const NOTHING: ReadonlySet<string> = new Set(['[DONE]', 'null', 'true', 'false'])

/**
 * Whether a line beside data may say that what it belongs to is a failure. Nearly all are names of other events, which are not
 * to be made a text.
 */
export function mayBeFailure(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[start] !== LETTER_E) return false
  return bytes[start + 1] === LETTER_R || end - start <= ERROR_EVENT_BYTES
}

/** A line `event: value` or `error: value`; the name is '' for one with another field. */
export function readField(line: Buffer): { readonly name: string; readonly value: Buffer } {
  const [head = '', name = ''] = FIELD.exec(line.toString('latin1', 0, ERROR_EVENT_BYTES)) ?? []
  return { name, value: line.subarray(head.length, FAILURE_BYTES_MAX) }
}

/** Data that is a failure, in the form that readers of events know. */
export function failureEvent(data: Buffer): Buffer {
  const text = data.toString('utf8')
  const stated = parseBytes(data, 0, data.length)
  if (NOTHING.has(text.trim()) || (isJsonObject(stated) && KNOWN.some((name) => name in stated))) return data
  const message = typeof stated === 'string' ? stated : text
  return Buffer.from(JSON.stringify({ error: isJsonObject(stated) ? stated : { message } }))
}
