import { isJsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'

/** The instruction to a model whose provider has no mode for an answer of any JSON object. */
export const ANY_JSON = 'Answer with a single JSON object and nothing else.'

/** Whether a response_format asks for any JSON object. */
export function wantsAnyJson(format: unknown): boolean {
  return isJsonObject(format) && format['type'] === 'json_object'
}

/** Adds the words to a size, because a provider may be sent them. */
export function countAnyJson(format: unknown, size: PromptSize): void {
  if (wantsAnyJson(format)) size.optionBytes = (size.optionBytes ?? 0) + ANY_JSON.length
}
