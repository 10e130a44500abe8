import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'

const ANY = 'Answer by calling one of the tools.'
/** The choices that force a call of any tool, in the words of chats and of the Messages format. */
const FORCES_ANY: ReadonlySet<unknown> = new Set(['required', 'any'])

/** Measures what `askedToCall` adds to a conversation. @param choice the checked `tool_choice` of a chat or a Messages body */
export function countForcedCall(choice: unknown, size: PromptSize): void {
  const words = wordsFor(choice)
  if (words !== null) size.optionBytes = (size.optionBytes ?? 0) + words.length
}

/**
 * A chat, or a Messages body, that asks for a call in words where it forced one: Claude since Opus 5.5, and thinking models of
 * DeepSeek, Qwen and Moonshot, take no choice that does. Others are as they were.
 */
export function askedToCall(body: JsonObject): JsonObject {
  const { tool_choice: choice, messages, ...others } = body
  // A provider may know no choice at all.
  if (choice === 'auto') return { messages, ...others }
  const words = wordsFor(choice)
  if (words === null || !Array.isArray(messages)) return body
  const free = freeChoice(choice)
  return { messages: [...messages, { role: 'user', content: words }], ...others, ...(free && { tool_choice: free }) }
}

/** The choice without its force; null where nothing is left of it. */
function freeChoice(choice: unknown): JsonObject | null {
  const { disable_parallel_tool_use: oneAtATime } = isJsonObject(choice) ? choice : {}
  return oneAtATime === true ? { type: 'auto', disable_parallel_tool_use: true } : null
}

/** The request for a call in words; null for a choice that forces none. */
function wordsFor(choice: unknown): string | null {
  if (FORCES_ANY.has(choice)) return ANY
  if (!isJsonObject(choice)) return null
  const { type, allowed_tools: allowed } = choice
  if (FORCES_ANY.has(type)) return ANY
  if (isJsonObject(allowed)) return FORCES_ANY.has(allowed['mode']) ? ANY : null
  const { name } = isJsonObject(choice['function']) ? choice['function'] : choice
  return typeof name === 'string' ? `Answer by calling the tool ${name}.` : null
}
