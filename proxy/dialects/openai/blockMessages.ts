import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'

/**
 * A message of a chat with its tool calls and results as a chat has them: some agents, Cursor among them, send those of models
 * that they take for Claude as blocks of Messages.
 * @returns the message alone where it has no such blocks
 */
export function chatMessagesOf(message: unknown): readonly unknown[] {
  if (!isJsonObject(message) || !Array.isArray(message['content'])) return [message]
  const { role, content } = message
  const blocks = content
    .filter(isJsonObject)
    .filter(({ type }) => type === (role === 'user' ? 'tool_result' : 'tool_use'))
  if (blocks.length === 0 || (role !== 'user' && role !== 'assistant')) return [message]
  const others = content.filter((part) => !blocks.includes(part as JsonObject))
  if (role === 'assistant') return [withCalls(message, blocks, others)]
  const results = blocks.map(({ tool_use_id: id, content: said }) => ({
    role: 'tool',
    tool_call_id: id,
    content: said,
  }))
  return others.length === 0 ? results : [...results, { ...message, content: others }]
}

function withCalls(message: JsonObject, uses: readonly JsonObject[], content: readonly unknown[]): JsonObject {
  const { tool_calls: given } = message
  const calls = uses.map(({ id, name, input }) => ({ id, type: 'function', function: { name, arguments: input } }))
  return { ...message, content, tool_calls: [...(Array.isArray(given) ? (given as unknown[]) : []), ...calls] }
}
