import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { blocksOf } from './callBlocks.ts'

export const THOUGHTS: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])

/**
 * A checked Messages body without the thinking of its history, for a provider that has refused thinking which another one has
 * signed. A model with a budget has to be shown the thinking that led to its calls, so that it answers their results without.
 */
export function withoutThoughts(native: JsonObject): JsonObject {
  const messages = (native['messages'] as JsonObject[]).map(withoutThought).filter(({ content }) => !isEmpty(content))
  const { thinking, ...rest } = native
  const isBudget = (thinking as JsonObject | undefined)?.['type'] === 'enabled'
  const keepsThinking = thinking !== undefined && !(isBudget && lacksThought(messages))
  return { ...rest, ...(keepsThinking && { thinking }), messages }
}

/** Whether a conversation ends with results of calls whose turn of the assistant does not begin with thinking. */
export function lacksThought(messages: readonly JsonObject[]): boolean {
  const end = messages.findLastIndex(isOfAssistant)
  if (!messages.slice(end + 1).some((message) => blocksOf(message).some(({ type }) => type === 'tool_result')))
    return false
  const before = messages.slice(0, end + 1).findLastIndex((message) => !isOfAssistant(message))
  const [first] = blocksOf(messages[before + 1] ?? {})
  return !THOUGHTS.has(first?.['type'])
}

function withoutThought(message: JsonObject): JsonObject {
  const blocks = isOfAssistant(message) ? blocksOf(message) : []
  if (!blocks.some(({ type }) => THOUGHTS.has(type))) return message
  return { ...message, content: blocks.filter(({ type }) => !THOUGHTS.has(type)) }
}

function isOfAssistant({ role }: JsonObject): boolean {
  return role === 'assistant'
}

function isEmpty(content: unknown): boolean {
  return Array.isArray(content) && content.length === 0
}
