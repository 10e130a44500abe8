import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { isGiven } from '../../json/fields.ts'
import type { Limits } from '../../limits.ts'
import { readText } from '../shared/text.ts'
import { type Content, readContent } from './content.ts'

/** Roles of input messages, mapped to roles of a chat: not every provider knows the role `developer`. */
const ROLES: ReadonlyMap<unknown, string> = new Map([
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['system', 'system'],
  ['developer', 'system'],
])

/**
 * Reads `instructions` and `input` into the messages of a chat, and measures the text that the model will read. Only known
 * members are forwarded, so that no text reaches the model that the hold does not cover.
 * @throws GatewayError 400 with the field at fault; too_many_images
 */
export function readInput(body: JsonObject, limits: Limits): { messages: readonly JsonObject[]; size: PromptSize } {
  const { instructions, input } = body
  const size: PromptSize = { textBytes: 0, messages: 0, images: 0 }
  const messages: JsonObject[] = []
  if (isGiven(instructions)) {
    messages.push({ role: 'system', content: readText(instructions, 'instructions', size) })
  }
  const before = messages.length
  if (typeof input === 'string') messages.push({ role: 'user', content: readText(input, 'input', size) })
  else addItems(input, messages, size, limits)
  if (messages.length === before) throw invalidRequest('input must hold a message or a function_call_output.', 'input')
  if (size.images > limits.imagesMax) throw new GatewayError('too_many_images', { param: 'input' })
  size.messages = messages.length
  return { messages, size }
}

function addItems(input: unknown, messages: JsonObject[], size: PromptSize, limits: Limits): void {
  if (!Array.isArray(input)) throw invalidRequest('input must be a string or an array of items.', 'input')
  if (input.length > limits.messagesMax) {
    throw invalidRequest(`input may hold at most ${limits.messagesMax} items.`, 'input')
  }
  input.forEach((item: unknown, i) => {
    addItem(item, `input[${i}]`, messages, size)
  })
}

function addItem(item: unknown, field: string, messages: JsonObject[], size: PromptSize): void {
  if (!isJsonObject(item)) throw invalidRequest(`${field} must be an object.`, field)
  switch (item['type'] ?? impliedType(item)) {
    case 'message':
      addMessage(item, field, messages, size)
      return
    case 'function_call':
      addCall(item, field, messages, size)
      return
    case 'function_call_output':
      messages.push({
        role: 'tool',
        tool_call_id: readText(item['call_id'], `${field}.call_id`, size),
        content: readContent(item['output'], `${field}.output`, size).chat,
      })
      return
    case 'reasoning':
      // Reasoning may only go back to the provider that made it, and the request does not say which one that was.
      return
    case 'item_reference':
      throw new GatewayError('unsupported_parameter', { message: `${field} ${REFERENCE}`, param: field })
    default: {
      const message = `${field}.type must be message, function_call, function_call_output or reasoning.`
      throw invalidRequest(message, `${field}.type`)
    }
  }
}

// Messages may leave out their type, and so may references.
function impliedType(item: JsonObject): string {
  if (isGiven(item['role'])) return 'message'
  return isGiven(item['id']) ? 'item_reference' : ''
}

const REFERENCE =
  'refers to an item, but nothing is stored here: send the item itself (in the package ai: providerOptions.openai.store false).'

function addMessage(item: JsonObject, field: string, messages: JsonObject[], size: PromptSize): void {
  const role = ROLES.get(item['role'])
  if (role === undefined) {
    throw invalidRequest(`${field}.role must be user, assistant, system or developer.`, `${field}.role`)
  }
  const content = readContent(item['content'], `${field}.content`, size)
  if (role !== 'assistant') messages.push({ role, content: content.chat })
  else if (content.images === 0) addSaid(content, messages)
  else throw invalidRequest(`${field}.content of the assistant may hold output_text and refusal.`, `${field}.content`)
}

// Text that the assistant wrote among its calls belongs to the message with the calls, which their outputs have to follow.
function addSaid({ text, refusal }: Content, messages: JsonObject[]): void {
  const last = messages.at(-1)
  const refused = refusal === '' ? {} : { refusal }
  if (last?.['role'] !== 'assistant' || last['tool_calls'] === undefined) {
    messages.push({ role: 'assistant', content: text === '' && refusal !== '' ? null : text, ...refused })
    return
  }
  if (text !== '') last['content'] = String(last['content'] ?? '') + text
  Object.assign(last, refused)
}

function addCall(item: JsonObject, field: string, messages: JsonObject[], size: PromptSize): void {
  const call = {
    id: readText(item['call_id'], `${field}.call_id`, size),
    type: 'function',
    function: {
      name: readText(item['name'], `${field}.name`, size),
      arguments: readText(item['arguments'], `${field}.arguments`, size),
    },
  }
  const last = messages.at(-1)
  if (last?.['role'] !== 'assistant') messages.push({ role: 'assistant', content: null, tool_calls: [call] })
  else if (Array.isArray(last['tool_calls'])) last['tool_calls'].push(call)
  else last['tool_calls'] = [call]
}
