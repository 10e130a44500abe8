import { isJsonObject, type JsonObject } from '../../../../contract/std/jsonObject.ts'
import { callItem, isCallItem, isOutputItem } from './callItems.ts'
import { messageParts, type Part, partsOf, toolResponse, wordOf } from './messageParts.ts'

/** A message, as the conventions have it. */
export interface Message {
  readonly role: string
  readonly parts: readonly Part[]
}

/** A request to a model. */
export interface Asked {
  readonly instructions: readonly Part[]
  readonly messages: readonly Message[]
}

const TOOL_ROLES: ReadonlySet<unknown> = new Set(['tool', 'function'])

/** Reads the body of a request in any of the formats, whose members it may mix. */
export function askedIn(body: JsonObject): Asked {
  const { messages, system, instructions, input, prompt } = body
  return {
    instructions: [...partsOf(system), ...partsOf(instructions)],
    messages: [...listOf(messages).map(messageOf), ...inputMessages(input), ...promptMessages(prompt)],
  }
}

function messageOf(message: JsonObject): Message {
  const { role, content, tool_call_id: id, name } = message
  if (TOOL_ROLES.has(role)) return { role: 'tool', parts: [toolResponse(id ?? name, content)] }
  return { role: wordOf(role) ?? 'user', parts: messageParts(message) }
}

/** Of the Responses format. */
function inputMessages(input: unknown): Message[] {
  if (typeof input === 'string') return [{ role: 'user', parts: partsOf(input) }]
  return listOf(input).map(itemMessage)
}

function itemMessage(item: JsonObject): Message {
  const { type, role, content } = item
  if (isOutputItem(item)) return { role: 'tool', parts: [toolResponse(item['call_id'], item['output'])] }
  if (isCallItem(item)) return { role: 'assistant', parts: [callItem(item)] }
  if (type === undefined || type === 'message' || type === 'agent_message') {
    return { role: wordOf(role) ?? 'user', parts: partsOf(content) }
  }
  return { role: 'assistant', parts: [{ type: wordOf(type) ?? 'unknown' }] }
}

/** Of a text completion: a text, several, or tokens, which say nothing to a reader. */
function promptMessages(prompt: unknown): Message[] {
  const prompts = Array.isArray(prompt) && prompt.some((one) => typeof one !== 'number') ? prompt : [prompt]
  return prompts.flatMap((one: unknown): Message[] => {
    if (typeof one === 'string') return [{ role: 'user', parts: partsOf(one) }]
    return Array.isArray(one) ? [{ role: 'user', parts: [{ type: 'tokens' }] }] : []
  })
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}
