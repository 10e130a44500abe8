import { REASONING_MEMBER } from '../../../contract/catalog/requestForm.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'

/** The member of a chat message with the reasoning that its client has kept; no provider gets it under this name. */
export const KEPT_REASONING = 'kept_reasoning'
const JOINT = '\n\n'
/** Moonshot refuses an empty text. */
const NO_REASONING = ' '

/** Measures reasoning of a history, since a provider may get it. */
export function countReasoning(text: string, size: PromptSize): void {
  size.keptReasoning = true
  size.optionBytes = (size.optionBytes ?? 0) + Buffer.byteLength(text) + JOINT.length
}

/** Keeps reasoning, measured, with the message of a chat that it led to. */
export function keepReasoning(message: JsonObject, text: string): void {
  const before = message[KEPT_REASONING]
  message[KEPT_REASONING] = typeof before === 'string' ? before + JOINT + text : text
}

/** Whether a provider that wants reasoning back demands it: where tools were called. @param messages of a chat; absent for none */
export function demandsReasoning(messages: unknown): boolean {
  return Array.isArray(messages) && messages.some((message: JsonObject) => message['tool_calls'] !== undefined)
}

/** The messages for a provider that demands reasoning, with every message of the assistant. */
export function withReasoning(messages: readonly JsonObject[]): JsonObject[] {
  return messages.map(({ [KEPT_REASONING]: kept, ...message }) =>
    message['role'] === 'assistant'
      ? { ...message, [REASONING_MEMBER]: message[REASONING_MEMBER] || kept || NO_REASONING }
      : message,
  )
}

/** The messages for a provider that takes no reasoning that is not its own. */
export function withoutKeptReasoning(messages: readonly JsonObject[]): JsonObject[] {
  return messages.map(({ [KEPT_REASONING]: _kept, ...message }) => message)
}
