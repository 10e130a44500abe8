import { CALL_MEMBER } from '../../../contract/catalog/requestForm.ts'
import { invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { isGiven } from '../../json/fields.ts'
import { sentName } from '../shared/clientTools.ts'
import { customArguments } from '../shared/customTools.ts'
import { jsonAsText, readCallId, readText } from '../shared/text.ts'
import { callThought, giveBack } from '../shared/thought.ts'

/**
 * Reads the tool calls of a message of a history. One without an id gets one, and arguments that are no text become one: some
 * clients keep calls as the API of their model has them.
 * @param place of the message
 * @throws GatewayError 400 with the field at fault
 */
export function readToolCalls(calls: unknown, place: number, size: PromptSize): JsonObject[] {
  const field = `messages[${place}].tool_calls`
  if (!Array.isArray(calls)) throw invalidRequest(`${field} must be an array.`, field)
  return calls.map((call: unknown, number) => {
    const said = isJsonObject(call) ? functionOf(call, size) : undefined
    if (!isJsonObject(call) || !isJsonObject(said)) {
      throw invalidRequest(`${field} must hold {id, type: "function", function}.`, field)
    }
    const { id } = call
    const read: JsonObject = {
      id: readCallId(isGiven(id) && id !== '' ? id : `call_${place}_${number}`, `${field}.id`, size),
      type: 'function',
      function: {
        name: readText(said['name'] ?? '', `${field}.function.name`, size),
        arguments: jsonAsText(said['arguments'] ?? '{}', size),
      },
    }
    giveBack(read, callThought(call), size)
    return read
  })
}

/** The function that is called; for a custom tool, the one that stands for it. */
function functionOf({ function: said, custom }: JsonObject, size: PromptSize): unknown {
  if (isGiven(said) || !isJsonObject(custom)) return said
  size.rewritten = true
  const { name, input } = custom
  const text = typeof input === 'string' ? input : JSON.stringify(input ?? '')
  return { name: typeof name === 'string' ? sentName(name) : name, arguments: customArguments(text) }
}

/** The messages for a provider that takes no other members of messages and their tool calls than the documented ones. */
export function withoutCallMembers(messages: readonly JsonObject[]): JsonObject[] {
  return messages.map(({ [CALL_MEMBER]: _extra, ...message }) => {
    const { tool_calls: calls } = message
    if (!Array.isArray(calls)) return message
    return { ...message, tool_calls: (calls as JsonObject[]).map(({ [CALL_MEMBER]: _extra, ...call }) => call) }
  })
}
