import type { Completion } from '../../contract/api/completion.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '../../contract/std/jsonObject.ts'
import type { Limits } from '../limits.ts'
import { errorText } from './outcome.ts'

/** The code of a line that the provider had no time for. */
const EXPIRED = 'batch_expired'

/** A provider's result of one job. */
export interface ResultLine {
  readonly customId: string
  /** null without a completion. */
  readonly completion: Completion | null
  readonly isExpired: boolean
  /** Why the completion is missing. */
  readonly reason: string
}

/**
 * Reads an output or error file of a batch: {custom_id, response: {status_code, body} or null, error: {code, message} or
 * null} a line. Other lines are ignored.
 */
export function readLines(lines: readonly string[], limits: Limits): ResultLine[] {
  return lines.flatMap((text) => {
    const line = text.trim() === '' ? undefined : readLine(text, limits)
    return line === undefined ? [] : [line]
  })
}

function readLine(text: string, limits: Limits): ResultLine | undefined {
  const line = parseJsonObject(text)
  const customId = line?.['custom_id']
  if (line === null || typeof customId !== 'string') return undefined
  if (Buffer.byteLength(text) > limits.batchResultBytesMax) {
    return { customId, completion: null, isExpired: false, reason: 'The result is larger than the gateway keeps.' }
  }
  const response = objectOf(line['response'])
  const body = objectOf(response?.['body'])
  if (response?.['status_code'] === 200 && body !== undefined) {
    return { customId, completion: body, isExpired: false, reason: '' }
  }
  const error = line['error'] ?? body?.['error']
  return { customId, completion: null, isExpired: objectOf(error)?.['code'] === EXPIRED, reason: errorText(error) }
}

function objectOf(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined
}
