import { CALL_MEMBER, REASONING_MEMBER } from '../../../contract/catalog/requestForm.ts'
import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import type { DialectLimits } from '../limits.ts'
import { countReasoning, KEPT_REASONING, keepReasoning } from '../shared/keptReasoning.ts'
import { pairedResults } from '../shared/pairedResults.ts'
import { countPrefill } from '../shared/prefill.ts'
import { areParts, jsonAsText, readCallId, readText } from '../shared/text.ts'
import { callThought, giveBack } from '../shared/thought.ts'
import { messagesOfBlocks, messagesOfFunctions } from './blockMessages.ts'
import { markedContent, readParts, type Unpriced } from './parts.ts'
import { jointBytes } from './plainResults.ts'
import { readToolCalls } from './promptCalls.ts'

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

/** Members whose text the model may read. They have to be strings, so that all of it is measured. */
const TEXT_MEMBERS = new Set(['name', 'refusal', 'reasoning_content'])

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
  const size: PromptSize = { textBytes: 0, messages: 0, images: 0, tools: 0, optionBytes: 0 }
  const newest = value.findLastIndex((message: unknown) => isJsonObject(message) && message['role'] === 'user')
  const read: JsonObject[] = []
  for (const [i, message] of value.entries()) {
    const functions = messagesOfFunctions(message, i < newest)
    if (functions !== null) size.rewritten = true
    const several = messagesOfBlocks(message) ?? functions
    if (several === null) read.push(readMessage(message, i, size, i < newest))
    else for (const own of several) read.push(readMessage(own, i, size, i < newest))
  }
  size.messages = read.length
  if (size.images > limits.imagesMax) throw new GatewayError('too_many_images', { param: 'messages' })
  const messages = read.some(isEmptyTurn) ? read.filter((message) => !isEmptyTurn(message)) : read
  const paired = pairedResults(messages.length === 0 ? read : messages, size)
  countPrefill(paired, size)
  return { messages: paired, size }
}

/** The members of a turn that may have a value although nothing is said in it. */
const SAYS_NOTHING: ReadonlySet<string> = new Set(['role', 'content', KEPT_REASONING, REASONING_MEMBER, CALL_MEMBER])

/** A turn of the assistant in which nothing is said, which some providers refuse. */
function isEmptyTurn(message: JsonObject): boolean {
  if (message['role'] !== 'assistant' || !isEmptyContent(message['content'])) return false
  for (const name in message) if (!SAYS_NOTHING.has(name)) return false
  return true
}

function isEmptyContent(content: unknown): boolean {
  if (!Array.isArray(content)) return content === null || content === ''
  return (content as JsonObject[]).every(({ type, text }) => type === 'text' && text === '')
}

/** @param isOld the user has said something since, and cannot take it back */
function readMessage(message: unknown, place: number, size: PromptSize, isOld: boolean): JsonObject {
  const field = `messages[${place}]`
  if (!isJsonObject(message)) throw invalidRequest(`${field} must be an object with role and content.`, field)
  const role = message['role']
  if (typeof role !== 'string' || !ROLES.has(role)) {
    throw invalidRequest(`${field}.role must be system, developer, user, assistant or tool.`, `${field}.role`)
  }
  const clean: JsonObject = { role, content: readContent(message['content'], role, field, size, isOld) }
  for (const name in message) {
    const value = message[name]
    if (name === 'role' || name === 'content' || value === null || value === undefined) continue
    if (name === 'tool_calls') {
      const calls = readToolCalls(value, place, size)
      // The format has no empty list, and providers refuse one.
      if (calls.length > 0) clean['tool_calls'] = calls
    } else if (name === 'reasoning') readReasoning(value, clean, size)
    else if (name === CALL_MEMBER) giveBack(clean, callThought(message), size)
    else if (name === 'cache_control') clean['content'] = markedContent(clean['content'], value)
    else if (name === 'tool_call_id') clean[name] = readCallId(value, `${field}.${name}`, size)
    else if (TEXT_MEMBERS.has(name)) clean[name] = readText(value, `${field}.${name}`, size)
    else if (name === 'function_call') {
      throw invalidRequest(`${field}.function_call is not taken; send tool_calls.`, `${field}.function_call`)
    }
  }
  return clean
}

// Clients keep reasoning under the name that it came with.
function readReasoning(value: unknown, message: JsonObject, size: PromptSize): void {
  if (typeof value !== 'string' || value === '') return
  countReasoning(value, size)
  keepReasoning(message, value)
}

// A model does not have to see what it has written itself, and agents go on by themselves after a result.
function unpricedOf(role: string, isOld: boolean): Unpriced {
  if (role === 'assistant') return 'skip'
  return role === 'tool' || (role === 'user' && isOld) ? 'note' : 'refuse'
}

/** Providers get the texts of a result as one, which is no string of the client's. */
function noteJoined(parts: readonly JsonObject[], size: PromptSize): void {
  size.textBytes += jointBytes(parts)
  size.rewritten = true
}

function readContent(content: unknown, role: string, field: string, size: PromptSize, isOld: boolean): unknown {
  if (typeof content === 'string') {
    size.textBytes += Buffer.byteLength(content)
    return content
  }
  if (Array.isArray(content) && (role !== 'tool' || areParts(content))) {
    const parts = readParts(content, field, size, unpricedOf(role, isOld))
    if (role === 'tool' && parts.length > 1) noteJoined(parts, size)
    // Providers refuse an empty list.
    if (parts.length > 0) return parts
    return role === 'assistant' ? null : ''
  }
  // Tools answer with anything, and with nothing.
  if (role === 'tool') return jsonAsText(content ?? '', size)
  if (content !== undefined && content !== null) {
    throw invalidRequest(`${field}.content must be a string or an array of parts.`, `${field}.content`)
  }
  if (role !== 'assistant' && isOld) return ''
  if (role !== 'assistant') {
    throw invalidRequest(`${field}.content is missing; send a string or an array of parts.`, `${field}.content`)
  }
  return null
}
