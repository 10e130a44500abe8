import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { fittingCallId, HistoryCallIds } from './historyCallIds.ts'

const NO_RESULT = 'There is no result.'

/** The result of a call that nobody has answered, measured. @param id of the call, which is sent once more with it */
export function noResult(id: string, size: PromptSize): string {
  size.textBytes += Buffer.byteLength(id) + NO_RESULT.length
  return NO_RESULT
}

/** A message of the assistant with calls, and the results that a conversation has for them. */
interface Asking {
  readonly message: JsonObject
  /** The ids of calls without a result so far. */
  readonly open: string[]
  readonly results: JsonObject[]
}

/**
 * The messages of a chat with exactly one result for each call, directly after the message that makes it: providers refuse any
 * other history, and a client that has cut its history, or was stopped amid a call, cannot repair what it has sent. A result
 * without the id of its call belongs to the first one that is open; one without a call is said by the user.
 * @param size of the prompt, which grows by what is added
 */
export function pairedResults(messages: readonly JsonObject[], size: PromptSize): readonly JsonObject[] {
  if (!messages.some((message) => message['role'] === 'tool' || callsOf(message).length > 0)) return messages
  const turns: (JsonObject | Asking)[] = []
  const byId = new Map<string, Asking>()
  let newest: Asking | undefined
  for (const message of messages) {
    const ids = callsOf(message).map(({ id }) => String(id))
    if (ids.length > 0) {
      newest = { message, open: ids, results: [] }
      for (const id of ids) byId.set(id, newest)
      turns.push(newest)
    } else if (message['role'] !== 'tool') turns.push(message)
    else if (!takeResult(message, byId, newest)) turns.push({ role: 'user', content: message['content'] })
  }
  const ids = new HistoryCallIds(size)
  return turns.flatMap((turn) => {
    if (!isAsking(turn)) return [turn]
    const { message, results } = turn
    return withOwnIds(message, [...results, ...missing(turn, size)], ids, size)
  })
}

/** A message with calls and their results, each call with an id of its own that every provider takes. */
function withOwnIds(message: JsonObject, results: JsonObject[], ids: HistoryCallIds, size: PromptSize): JsonObject[] {
  const named = callsOf(message).map((call) => ({ call, id: fittingCallId(ids.next(String(call['id']))) }))
  if (named.every(({ call, id }) => call['id'] === id)) return [message, ...results]
  size.rewritten = true
  const left = [...results]
  const renamed = named.map(({ call, id }) => {
    const place = left.findIndex((result) => String(result['tool_call_id']) === String(call['id']))
    return { call: { ...call, id }, result: { ...left.splice(place, 1)[0], tool_call_id: id } }
  })
  // The thoughts of a message are found by the message itself.
  message['tool_calls'] = renamed.map(({ call }) => call)
  return [message, ...renamed.map(({ result }) => result)]
}

/** @returns false for a result of no call, or of one that has its result */
function takeResult(result: JsonObject, byId: ReadonlyMap<string, Asking>, newest: Asking | undefined): boolean {
  const given = result['tool_call_id']
  const id = given === undefined || given === '' ? newest?.open[0] : String(given)
  const asking = id === undefined ? undefined : byId.get(id)
  const place = asking?.open.indexOf(id ?? '') ?? -1
  if (asking === undefined || place < 0) return false
  asking.open.splice(place, 1)
  asking.results.push(id === given ? result : { ...result, tool_call_id: id })
  return true
}

function missing({ open }: Asking, size: PromptSize): JsonObject[] {
  size.messages += open.length
  return open.map((id) => ({ role: 'tool', tool_call_id: id, content: noResult(id, size) }))
}

function callsOf({ role, tool_calls: calls }: JsonObject): readonly JsonObject[] {
  return role === 'assistant' && Array.isArray(calls) ? (calls as JsonObject[]) : []
}

function isAsking(turn: JsonObject | Asking): turn is Asking {
  return Array.isArray(turn['open'])
}
