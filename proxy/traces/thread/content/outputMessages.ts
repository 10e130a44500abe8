import { choicesOf } from '../../../../contract/api/completion.ts'
import { type GivenReason, givenReason } from '../../../../contract/api/finishReason.ts'
import { isJsonObject, type JsonObject } from '../../../../contract/std/jsonObject.ts'
import { callItem, isCallItem } from './callItems.ts'
import type { Message } from './inputMessages.ts'
import { messageParts, type Part, partsOf, wordOf } from './messageParts.ts'

/** A message of a model, as the conventions have it. */
export interface OutputMessage extends Message {
  readonly finish_reason: string
}

/**
 * Reads an answer in one piece in any of the formats.
 * @param unfinished the reason of a message that names none
 */
export function answeredIn(answer: JsonObject, unfinished: string): OutputMessage[] {
  const { content, output, role } = answer
  const choices = choicesOf(answer)
  if (choices.length > 0) return choices.map((choice) => choiceMessage(choice, unfinished))
  if (Array.isArray(output)) return [responseMessage(answer, output.filter(isJsonObject), unfinished)]
  if (!Array.isArray(content)) return []
  const reason = finishReason(givenReason(answer['stop_reason']), [], unfinished)
  return [{ role: wordOf(role) ?? 'assistant', parts: partsOf(content), finish_reason: reason }]
}

function choiceMessage({ message, text, finish_reason: given }: JsonObject, unfinished: string): OutputMessage {
  const said = isJsonObject(message) ? message : {}
  const parts = [...messageParts(said), ...partsOf(text)]
  return {
    role: wordOf(said['role']) ?? 'assistant',
    parts,
    finish_reason: finishReason(givenReason(given), parts, unfinished),
  }
}

function responseMessage(
  { status, incomplete_details: details }: JsonObject,
  items: JsonObject[],
  unfinished: string,
): OutputMessage {
  const parts = items.flatMap((item): Part[] => {
    if (isCallItem(item)) return [callItem(item)]
    return item['type'] === 'message' ? partsOf(item['content']) : [{ type: wordOf(item['type']) ?? 'unknown' }]
  })
  const given = isJsonObject(details) ? details['reason'] : status === 'in_progress' ? null : status
  return { role: 'assistant', parts, finish_reason: finishReason(givenReason(given), parts, unfinished) }
}

/** By the words of the conventions, which are those of chat completions but for one. */
function finishReason(given: GivenReason | null, parts: readonly Part[], unfinished: string): string {
  if (given === null) return unfinished
  const calls = given === 'stop' && parts.some(({ type }) => type === 'tool_call')
  return calls || given === 'tool_calls' ? 'tool_call' : given
}
