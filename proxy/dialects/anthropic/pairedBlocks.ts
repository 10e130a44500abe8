import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { HistoryCallIds } from '../shared/historyCallIds.ts'
import { noResult } from '../shared/pairedResults.ts'
import { NOTHING_SAID } from './anthropicMessages.ts'
import { blocksOf, isCall } from './callBlocks.ts'

/** A turn of the user in which nothing else is said. */
const NOBODY: JsonObject = { role: 'user', content: [] }

/**
 * The checked messages of the format with exactly one result for each call, directly after it; see `pairedResults`, which does
 * the same for chats. Consecutive messages of one side are one turn.
 * @param size of the prompt, which grows by what is added
 */
export function pairedBlocks(messages: readonly JsonObject[], size: PromptSize): JsonObject[] {
  const paired: JsonObject[] = []
  const ids = new HistoryCallIds(size)
  /** The calls of the assistant's turn. */
  let open: OpenCall[] = []
  /** The messages since that turn. */
  let replies: JsonObject[] = []
  const endReplies = (): void => {
    paired.push(...answered(replies, open, size))
    open = []
    replies = []
  }
  for (const message of messages) {
    if (message['role'] !== 'assistant') {
      replies.push(message)
      continue
    }
    if (replies.length > 0) endReplies()
    const calls = blocksOf(message).filter(isCall)
    const named = calls.map(({ id }) => ({ given: String(id), id: ids.next(String(id)) }))
    open.push(...named)
    paired.push(named.every(({ given, id }) => given === id) ? message : withIds(message, named))
  }
  endReplies()
  return paired
}

interface OpenCall {
  /** Its id for the client. */
  readonly given: string
  /** Its id for providers, which no other call of the history has. */
  readonly id: string
}

function withIds(message: JsonObject, calls: readonly OpenCall[]): JsonObject {
  const left = [...calls]
  const content = blocksOf(message).map((block) => (isCall(block) ? { ...block, id: left.shift()?.id } : block))
  return { ...message, content }
}

/** The replies to calls, beginning with a message of the user that has their results. */
function answered(replies: readonly JsonObject[], open: OpenCall[], size: PromptSize): JsonObject[] {
  const results: JsonObject[] = []
  let holderAt = -1
  const rest = replies.map((message, i) => {
    const before = results.length
    const own = takeResults(message, open, results)
    if (holderAt < 0 && results.length > before) holderAt = i
    return own
  })
  results.push(...open.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: noResult(id, size) })))
  if (results.length === 0) return rest
  if (holderAt < 0) holderAt = rest.findIndex(({ role }) => role === 'user')
  const holder = rest[holderAt] ?? NOBODY
  const others = rest.filter((message, i) => i !== holderAt && blocksOf(message).length > 0)
  return [{ ...holder, content: [...results, ...blocksOf(holder)] }, ...others]
}

/**
 * A message without the results of open calls, which go to `results`, and their ids off `open`. Results without a call are
 * said by the user.
 */
function takeResults(message: JsonObject, open: OpenCall[], results: JsonObject[]): JsonObject {
  const blocks = message['role'] === 'user' ? blocksOf(message) : []
  if (!blocks.some(isResult)) return message
  const before = results.length
  const content = blocks.flatMap((block) => {
    if (!isResult(block)) return [block]
    const call = open.find(({ given }) => given === String(block['tool_use_id']))
    if (call === undefined) return blocksOf(block)
    open.splice(open.indexOf(call), 1)
    results.push(call.id === call.given ? block : { ...block, tool_use_id: call.id })
    return []
  })
  const isNothing = content.length === 0 && results.length === before
  return { ...message, content: isNothing ? [{ type: 'text', text: NOTHING_SAID }] : content }
}

function isResult(block: JsonObject): boolean {
  return block['type'] === 'tool_result'
}
