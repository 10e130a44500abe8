import { isJsonObject, type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import { plainBase64, readDataUrl } from '../shared/dataUrl.ts'

/** A prompt in the Messages format. */
export interface AnthropicPrompt {
  /** Text blocks. */
  readonly system: readonly JsonObject[]
  readonly messages: readonly JsonObject[]
}

/** The pattern of tool call ids in this format. */
const NOT_IN_IDS = /[^A-Za-z0-9_-]/g

/**
 * Puts the checked messages of a chat request into the Messages format: system texts apart, tool results in the user's
 * turn, consecutive messages of one side as one.
 */
export function anthropicPrompt(messages: readonly JsonObject[]): AnthropicPrompt {
  const system: JsonObject[] = []
  const turns: { role: string; content: JsonObject[] }[] = []
  for (const message of messages) {
    const role = message['role']
    const content = blocksOf(message)
    if (role === 'system' || role === 'developer') {
      system.push(...content)
      continue
    }
    if (content.length === 0) continue
    const side = role === 'assistant' ? 'assistant' : 'user'
    const last = turns[turns.length - 1]
    if (last?.role === side) last.content.push(...content)
    else turns.push({ role: side, content })
  }
  // The format needs a turn of the user, where chat completions are content with instructions.
  if (turns.length === 0) return { system: [], messages: [{ role: 'user', content: system }] }
  return { system, messages: turns }
}

function blocksOf(message: JsonObject): JsonObject[] {
  const { content } = message
  if (message['role'] === 'tool') {
    const result = contentBlocks(content)
    const said = result.length === 0 ? {} : { content: result }
    return [{ type: 'tool_result', tool_use_id: callId(message['tool_call_id']), ...said }]
  }
  const calls = Array.isArray(message['tool_calls']) ? (message['tool_calls'] as JsonObject[]) : []
  return [...contentBlocks(content), ...calls.map(toolUse)]
}

function contentBlocks(content: unknown): JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return Array.isArray(content) ? (content as JsonObject[]).flatMap(blockOf) : []
}

function blockOf(part: JsonObject): JsonObject[] {
  const cached = part['cache_control'] === undefined ? {} : { cache_control: part['cache_control'] }
  if (part['type'] === 'image_url') return [{ type: 'image', source: imageSource(part['image_url']), ...cached }]
  const text = part['type'] === 'refusal' ? part['refusal'] : part['text']
  return text === '' ? [] : [{ type: 'text', text, ...cached }]
}

function imageSource(image: unknown): JsonObject {
  const url = String(isJsonObject(image) ? image['url'] : image)
  const found = readDataUrl(url)
  return found === null
    ? { type: 'url', url }
    : { type: 'base64', media_type: found.type, data: plainBase64(found.base64) }
}

function toolUse(call: JsonObject): JsonObject {
  const said = isJsonObject(call['function']) ? call['function'] : {}
  return { type: 'tool_use', id: callId(call['id']), name: said['name'], input: inputOf(String(said['arguments'])) }
}

/** The arguments of a call as an object. Text that a model left unfinished is kept. */
export function inputOf(text: string): JsonObject {
  return parseJsonObject(text) ?? (text.trim() === '' ? {} : { arguments: text })
}

function callId(id: unknown): string {
  return String(id).replace(NOT_IN_IDS, '_')
}
