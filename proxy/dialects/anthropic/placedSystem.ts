import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { AskModel } from '../shared/codec.ts'
import { blocksOf } from './callBlocks.ts'

/** Whether a model, or its provider, takes no instructions but those before the first turn. */
export function takesFirstAlone({ form, leavesOut = [] }: Pick<AskModel, 'form' | 'leavesOut'>): boolean {
  return form?.systemFirst === true || leavesOut.includes('laterInstructions')
}

/**
 * A checked Messages body with its instructions where providers of the format take them: those before the first turn as
 * `system`, the others in `messages` after a turn of the user, where the assistant's turn or nothing follows. Those
 * elsewhere are said by the user. Source: platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages.
 * @param first whether the provider takes none but those before the first turn
 * @returns the body itself where `messages` hold no instructions
 */
export function placedSystem(native: JsonObject, first: boolean): JsonObject {
  const messages = native['messages'] as JsonObject[]
  if (!messages.some(isSystem)) return native
  const start = messages.findIndex((message) => !isSystem(message))
  // The format needs a turn of the user.
  if (start < 0) return { ...native, messages: messages.map(saidByUser) }
  const later = joined(messages.slice(start)).map((message, i, all) =>
    isSystem(message) && (first || !isPlaced(all, i)) ? saidByUser(message) : message,
  )
  if (start === 0) return { ...native, messages: later }
  const leading = messages.slice(0, start).flatMap(blocksOf)
  return { ...native, system: [...blocksOf({ content: native['system'] ?? [] }), ...leading], messages: later }
}

/** Instructions that follow each other as one message, since the format takes one at a place. */
function joined(messages: readonly JsonObject[]): JsonObject[] {
  const out: JsonObject[] = []
  for (const message of messages) {
    const last = out.at(-1)
    if (last !== undefined && isSystem(last) && isSystem(message)) {
      out[out.length - 1] = { role: 'system', content: [...blocksOf(last), ...blocksOf(message)] }
    } else out.push(message)
  }
  return out
}

function isPlaced(messages: readonly JsonObject[], i: number): boolean {
  return messages[i - 1]?.['role'] === 'user' && messages[i + 1]?.['role'] !== 'user'
}

function saidByUser({ content }: JsonObject): JsonObject {
  return { role: 'user', content }
}

function isSystem({ role }: JsonObject): boolean {
  return role === 'system'
}
