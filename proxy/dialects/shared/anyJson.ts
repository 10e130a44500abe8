import { isJsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'

/** The instruction to a model whose provider has no mode for an answer of any JSON object. */
export const ANY_JSON = 'Answer with a single JSON object and nothing else.'

/** The instruction for a schema that a provider's format cannot express. */
export function wordsFor(schema: unknown): string {
  return `Answer with a single JSON value that matches this JSON schema and nothing else: ${JSON.stringify(schema)}`
}
const WORDS_LENGTH = wordsFor('').length

/** Whether a response_format asks for any JSON object. */
export function wantsAnyJson(format: unknown): boolean {
  return isJsonObject(format) && format['type'] === 'json_object'
}

/** Adds the words to a size, because a provider may be sent them. A schema itself is measured where it is read. */
export function countAnyJson(format: unknown, size: PromptSize): void {
  if (!isJsonObject(format)) return
  const words = wantsAnyJson(format) ? ANY_JSON.length : isJsonObject(format['json_schema']) ? WORDS_LENGTH : 0
  size.optionBytes = (size.optionBytes ?? 0) + words
}
