import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import type { DialectLimits } from '../limits.ts'
import { readText } from '../shared/text.ts'
import { readParts } from './parts.ts'

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

/** Members whose text the model may read. They have to be strings, so that all of it is measured. */
const TEXT_MEMBERS = new Set(['name', 'refusal', 'reasoning_content', 'tool_call_id'])

/**
 * Checks the messages of a chat request, measures the text that the model will read, and returns those that may be
 * forwarded: only known members, so that no text reaches the model that the hold does not cover.
 * @throws GatewayError 400 with the field at fault; too_many_images
 */
export function readMessages(
  value: unknown,
  limits: DialectLimits,
): { messages: readonly JsonObject[]; size: PromptSize } {
  if (!Array.isArray(value) || value.length === 0) {
    throw invalidRequest('messages must be a non-empty array of {role, content}.', 'messages')
  }
  if (value.length > limits.messagesMax) {
    throw invalidRequest(`messages may hold at most ${limits.messagesMax} entries.`, 'messages')
  }
  const size: PromptSize = { textBytes: 0, messages: value.length, images: 0, tools: 0, optionBytes: 0 }
  const messages = value.map((message: unknown, i) => readMessage(message, `messages[${i}]`, size))
  if (size.images > limits.imagesMax) throw new GatewayError('too_many_images', { param: 'messages' })
  return { messages, size }
}

function readMessage(message: unknown, field: string, size: PromptSize): JsonObject {
  if (!isJsonObject(message)) throw invalidRequest(`${field} must be an object with role and content.`, field)
  const role = message['role']
  if (typeof role !== 'string' || !ROLES.has(role)) {
    throw invalidRequest(`${field}.role must be system, developer, user, assistant or tool.`, `${field}.role`)
  }
  const clean: JsonObject = { role, content: readContent(message['content'], role, field, size) }
  for (const name in message) {
    const value = message[name]
    if (name === 'role' || name === 'content' || value === null || value === undefined) continue
    if (name === 'tool_calls') clean['tool_calls'] = readToolCalls(value, field, size)
    else if (TEXT_MEMBERS.has(name)) clean[name] = readText(value, `${field}.${name}`, size)
    else if (name === 'function_call') {
      throw invalidRequest(`${field}.function_call is not taken; send tool_calls.`, `${field}.function_call`)
    }
  }
  return clean
}

function readContent(content: unknown, role: string, field: string, size: PromptSize): unknown {
  if (typeof content === 'string') {
    size.textBytes += Buffer.byteLength(content)
    return content
  }
  if (Array.isArray(content)) return readParts(content, field, size)
  if (content !== undefined && content !== null) {
    throw invalidRequest(`${field}.content must be a string or an array of parts.`, `${field}.content`)
  }
  if (role !== 'assistant') {
    throw invalidRequest(`${field}.content is missing; send a string or an array of parts.`, `${field}.content`)
  }
  return null
}

function readToolCalls(calls: unknown, field: string, size: PromptSize): JsonObject[] {
  const name = `${field}.tool_calls`
  if (!Array.isArray(calls)) throw invalidRequest(`${name} must be an array.`, name)
  return calls.map((call: unknown) => {
    if (!isJsonObject(call) || !isJsonObject(call['function'])) {
      throw invalidRequest(`${name} must hold {id, type: "function", function}.`, name)
    }
    return {
      id: readText(call['id'], `${name}.id`, size),
      type: 'function',
      function: {
        name: readText(call['function']['name'], `${name}.function.name`, size),
        arguments: readText(call['function']['arguments'], `${name}.function.arguments`, size),
      },
    }
  })
}
