import { isJsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'

/** The instruction to a model whose provider has no mode for an answer of any JSON object. */
export const ANY_JSON = 'Answer with a single JSON object and nothing else.'

/** The instruction for a schema that a provider's format cannot express. */
export function wordsFor(schema: unknown): string {
  return `Answer with a single JSON value that matches this JSON schema and nothing else: ${JSON.stringify(schema)}`
}
const WORDS_LENGTH = wordsFor('').length

/**
 * The schema that a response_format asks for, also one beside the type, as Together and llama.cpp document it.
 * @returns null for any JSON object, undefined for a text and for forms of a provider's own
 */
export function askedSchema(format: unknown): unknown {
  if (!isJsonObject(format)) return undefined
  const { type, json_schema: named, schema } = format
  if (isJsonObject(named)) return named['schema'] ?? null
  return type === 'json_object' || type === 'json_schema' ? (schema ?? null) : undefined
}

/** Adds the words to a size, because a provider may be sent them. A schema itself is measured where it is read. */
export function countAnyJson(format: unknown, size: PromptSize): void {
  const asked = askedSchema(format)
  const words = asked === undefined ? 0 : asked === null ? ANY_JSON.length : WORDS_LENGTH
  size.optionBytes = (size.optionBytes ?? 0) + words
}
