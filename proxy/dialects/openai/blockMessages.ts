import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { isGiven } from '../../json/fields.ts'

/** The blocks of Messages that a chat has as messages or members of their own, by the role whose content they are in. */
const BLOCKS: ReadonlyMap<unknown, string> = new Map([
  ['user', 'tool_result'],
  ['assistant', 'tool_use'],
])

/**
 * A message of a chat with its tool calls and results as a chat has them: some agents, Cursor among them, send those of models
 * that they take for Claude as blocks of Messages.
 * @returns null where it has no such blocks
 */
export function messagesOfBlocks(message: unknown): readonly JsonObject[] | null {
  if (!isJsonObject(message) || !Array.isArray(message['content'])) return null
  const kind = BLOCKS.get(message['role'])
  const blocks: JsonObject[] = []
  const content: unknown[] = []
  for (const part of message['content'] as unknown[]) {
    if (kind !== undefined && isJsonObject(part) && part['type'] === kind) blocks.push(part)
    else content.push(part)
  }
  if (blocks.length === 0) return null
  if (kind === 'tool_use') return [withCalls(message, blocks, content)]
  const results = blocks.map((block) => ({
    role: 'tool',
    tool_call_id: block['tool_use_id'],
    content: block['content'],
  }))
  return content.length === 0 ? results : [...results, { ...message, content }]
}

// Packages such as LangChain keep both forms of a call in one message.
function withCalls(message: JsonObject, uses: readonly JsonObject[], content: readonly unknown[]): JsonObject {
  const given = Array.isArray(message['tool_calls']) ? (message['tool_calls'] as unknown[]) : []
  const ids = new Set(given.map((call) => (isJsonObject(call) ? call['id'] : undefined)))
  const calls = uses
    .filter(({ id }) => !isGiven(id) || !ids.has(id))
    .map(({ id, name, input }) => ({ id, type: 'function', function: { name, arguments: input } }))
  return { ...message, content, tool_calls: [...given, ...calls] }
}

/**
 * An old message of a chat with a call of a function, or its result, as they were before there were tools.
 * @returns null for any other
 */
export function messagesOfFunctions(message: unknown, isOld: boolean): readonly JsonObject[] | null {
  if (!isOld || !isJsonObject(message)) return null
  const { role, function_call: call } = message
  const isCall = role === 'assistant' && isJsonObject(call) && !isGiven(message['tool_calls'])
  if (!isCall && role !== 'function') return null
  const { role: _role, function_call: _call, name: _name, ...rest } = message
  return [isCall ? { ...rest, role, tool_calls: [{ type: 'function', function: call }] } : { ...rest, role: 'tool' }]
}
