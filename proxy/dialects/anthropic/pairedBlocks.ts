import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { noResult } from '../shared/pairedResults.ts'
import { NOTHING_SAID, resultsFirst } from './anthropicMessages.ts'
import { isCall } from './callBlocks.ts'

/** A turn of the user in which nothing else is said. */
const NOBODY: JsonObject = { role: 'user', content: [] }

/**
 * The checked messages of the format with exactly one result for each call, in the turn of the user that follows it; see
 * `pairedResults`, which does the same for chats. Consecutive messages of one side are one turn.
 * @param size of the prompt, which grows by what is added
 */
export function pairedBlocks(messages: readonly JsonObject[], size: PromptSize): JsonObject[] {
  const paired: JsonObject[] = []
  /** The ids of calls of the assistant's turn that have no result yet. */
  let open: string[] = []
  for (const [i, message] of messages.entries()) {
    const { role, content } = message
    const blocks = Array.isArray(content) ? (content as JsonObject[]) : []
    if (role === 'assistant') open.push(...blocks.filter(isCall).map(({ id }) => String(id)))
    const own = role === 'user' && blocks.some(isResult) ? { ...message, content: answered(blocks, open) } : message
    const isTurnEnd = role !== 'assistant' && (messages[i + 1]?.['role'] ?? 'assistant') === 'assistant'
    if (!isTurnEnd || open.length === 0) {
      paired.push(own)
      continue
    }
    if (role !== 'user') paired.push(own)
    paired.push(withMissing(role === 'user' ? own : NOBODY, open, size))
    open = []
  }
  if (open.length > 0) paired.push(withMissing(NOBODY, open, size))
  return paired
}

/** The blocks of the user, with what no open call has asked for as said by the user. Takes the ids of the results off `open`. */
function answered(blocks: readonly JsonObject[], open: string[]): JsonObject[] {
  const kept = blocks.flatMap((block) => {
    if (!isResult(block)) return [block]
    const place = open.indexOf(String(block['tool_use_id']))
    if (place < 0) return contentOf(block)
    open.splice(place, 1)
    return [block]
  })
  return kept.length === 0 ? [{ type: 'text', text: NOTHING_SAID }] : resultsFirst(kept)
}

function withMissing(message: JsonObject, open: readonly string[], size: PromptSize): JsonObject {
  const missing = open.map((id) => ({ type: 'tool_result', tool_use_id: id, content: noResult(id, size) }))
  return { ...message, content: resultsFirst([...contentOf(message), ...missing]) }
}

function contentOf({ content }: JsonObject): JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return Array.isArray(content) ? (content as JsonObject[]) : []
}

function isResult(block: JsonObject): boolean {
  return block['type'] === 'tool_result'
}
