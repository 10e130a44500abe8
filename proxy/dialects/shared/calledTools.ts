import { jsonBytes } from '../../../contract/api/completion.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import type { DialectLimits } from '../limits.ts'

const ANY_INPUT: JsonObject = { type: 'object', properties: {} }
const NO_CALL: JsonObject = { type: 'none' }

/**
 * The members of a Messages body that define the tools which its turns call, for a request that offers none: providers of
 * this format refuse a history with calls otherwise. The model is not to call them again.
 * @param turns checked messages of the format
 * @param max definitions; providers want some, but not one for each call
 */
export function calledTools(turns: readonly JsonObject[], max: number): JsonObject {
  const blocks = turns.flatMap(({ content }) => (Array.isArray(content) ? (content as unknown[]) : []))
  const calls = blocks.filter(isJsonObject).filter(({ type }) => type === 'tool_use')
  const tools = definitions(
    calls.map(({ name }) => name),
    max,
  )
  return tools.length === 0 ? {} : { tools, tool_choice: NO_CALL }
}

/**
 * Measures the definitions that a provider may be sent for the calls of a chat that offers no tools.
 * @param messages checked messages of chat completions
 */
export function countCalledTools(messages: readonly JsonObject[], size: PromptSize, limits: DialectLimits): void {
  const names: unknown[] = []
  for (const { tool_calls: made } of messages) {
    if (!Array.isArray(made)) continue
    for (const call of made as JsonObject[])
      names.push(isJsonObject(call['function']) ? call['function']['name'] : null)
  }
  // Most chats have none.
  if (names.length > 0) countDefinitions(definitions(names, limits.calledToolsMax), size)
}

/** Measures the tools of `calledTools`. */
export function countDefinitions(tools: unknown, size: PromptSize): void {
  if (!Array.isArray(tools) || tools.length === 0) return
  size.tools = tools.length
  size.optionBytes = (size.optionBytes ?? 0) + jsonBytes(tools) + jsonBytes(NO_CALL)
}

function definitions(names: readonly unknown[], max: number): JsonObject[] {
  const known = new Set(names.filter((name) => typeof name === 'string' && name !== ''))
  return [...known].slice(0, max).map((name) => ({ name, input_schema: ANY_INPUT }))
}
