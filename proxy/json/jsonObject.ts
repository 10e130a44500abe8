import { withoutByteOrderMark } from '../../contract/std/jsonBody.ts'
import { nestsDeeper } from '../../contract/std/jsonDepth.ts'
import { excessOf } from '../../contract/std/jsonExcess.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '../../contract/std/jsonObject.ts'
import type { JsonLimits } from './limits.ts'

/** The bounds of the JSON in a provider's answer, whole or in one event. */
export type AnswerBounds = Pick<
  JsonLimits,
  'jsonDepthMax' | 'answerMembersMax' | 'answerElementsMax' | 'answerParsedBytesMax'
>

/** A member or an element takes at least two bytes. */
const VALUE_BYTES_MIN = 2

/** The JSON object that a provider's answer is; null for anything else, and for one that exceeds the bounds. */
export function parseAnswer(body: Buffer, bounds: AnswerBounds): JsonObject | null {
  return isWithin(body, bounds) ? parseAnswerText(body.toString('utf8')) : null
}

/** The same without bounds. An error may be the only element of an array, as Gemini sends it. */
export function parseAnswerText(body: string): JsonObject | null {
  const text = withoutByteOrderMark(body)
  if (!text.trimStart().startsWith('[')) return parseJsonObject(text)
  const wrapped = parseJsonObject(`{"all":${text}}`)?.['all']
  const first: unknown = Array.isArray(wrapped) && wrapped.length === 1 ? wrapped[0] : null
  return isJsonObject(first) && first['error'] !== undefined ? first : null
}

/** Whether JSON of a provider has no more bytes, depth, members and elements than are read on the event loop. */
export function isWithin(bytes: Buffer, bounds: AnswerBounds): boolean {
  if (bytes.length > bounds.answerParsedBytesMax) return false
  return !nestsDeeper(bytes, bounds.jsonDepthMax) && hasFewValues(bytes, bounds)
}

/** Whether JSON of a provider has no more members and elements than are read on the event loop. */
export function hasFewValues(
  bytes: Buffer,
  { jsonDepthMax, answerMembersMax, answerElementsMax }: AnswerBounds,
): boolean {
  if (bytes.length < VALUE_BYTES_MIN * Math.min(answerMembersMax, answerElementsMax)) return true
  const bounds = { depthMax: jsonDepthMax, membersMax: answerMembersMax, elementsMax: answerElementsMax }
  return excessOf(bytes, bounds) === null
}
