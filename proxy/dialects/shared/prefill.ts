import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'

const GO_ON = 'Continue exactly where your last message ends, and do not repeat any of it.'

/**
 * Measures what `endedByUser` adds to a conversation.
 * @param messages checked messages of a chat, or of the Messages format
 */
export function countPrefill(messages: readonly JsonObject[], size: PromptSize): void {
  if (hasPrefill(messages)) size.optionBytes = (size.optionBytes ?? 0) + GO_ON.length
}

/**
 * The messages for a model that does not continue an answer that was begun for it (a prefill): the user asks it to. Others are as
 * they were.
 */
export function endedByUser(messages: readonly JsonObject[]): readonly JsonObject[] {
  return hasPrefill(messages) ? [...messages, { role: 'user', content: GO_ON }] : messages
}

function hasPrefill(messages: readonly JsonObject[]): boolean {
  return messages.at(-1)?.['role'] === 'assistant'
}
