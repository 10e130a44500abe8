import { isUtf8 } from 'node:buffer'
import { GatewayError, invalidRequest } from '../errors/errors.ts'
import { nestsDeeper } from './jsonDepth.ts'
import { isJsonObject, type JsonObject } from './jsonObject.ts'
import type { Span } from './span.ts'

const AT_POSITION = /at position ([0-9]+)/
const BYTE_ORDER_MARK = '\ufeff'
const MARK_BYTES = Buffer.from(BYTE_ORDER_MARK)
const AT_END = /end of JSON input|Unterminated string/
const FORM_START = /^(?:--|[\w.]+=)/

/**
 * Reads a request body that has to be a JSON object.
 * @param depthMax how deep its brackets may nest
 * @param longStrings gets the insides of long strings that are values, in their order
 * @throws GatewayError 400; body_incomplete when the text stops before the JSON does, unsupported_media_type for a form
 */
export function readJsonBody(body: Buffer, depthMax: number, longStrings?: Span[]): JsonObject {
  if (nestsDeeper(body, depthMax, longStrings)) throw tooDeep(depthMax)
  return parseJsonBody(body)
}

/**
 * Reads a request body of which it is known how deep its brackets nest.
 * @throws GatewayError as `readJsonBody`
 */
export function parseJsonBody(body: Buffer): JsonObject {
  if (body.length === 0) throw invalidRequest('The body is empty; send a JSON object.')
  // Anything else would reach the model with its characters replaced.
  if (!isUtf8(body)) throw invalidRequest('The body is not UTF-8; send JSON in that encoding, not compressed.')
  const text = withoutByteOrderMark(body.toString('utf8'))
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : ''
    if (FORM_START.test(text)) throw new GatewayError('unsupported_media_type')
    if (endsEarly(reason, text.length)) throw new GatewayError('body_incomplete')
    throw invalidRequest(`The body is not valid JSON: ${reason}.`)
  }
  if (!isJsonObject(parsed)) throw invalidRequest('The body must be a JSON object.')
  return parsed
}

/** RFC 8259 (section 8.1) lets a reader ignore the mark that some editors and shells put before a text. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}

/** As `withoutByteOrderMark`, for bytes. @returns the place of the first byte of the text */
export function textStart(bytes: Buffer): number {
  return bytes.subarray(0, MARK_BYTES.length).equals(MARK_BYTES) ? MARK_BYTES.length : 0
}

/** The refusal of a body that nests too deep. */
export function tooDeep(depthMax: number): GatewayError {
  return invalidRequest(`The body nests deeper than ${depthMax} levels; flatten it.`)
}

function endsEarly(reason: string, length: number): boolean {
  if (AT_END.test(reason)) return true
  const position = AT_POSITION.exec(reason)
  return position !== null && Number(position[1]) >= length
}
