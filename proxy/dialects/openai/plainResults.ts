import type { JsonObject } from '../../../contract/std/jsonObject.ts'

const JOINT = '\n'

/**
 * A body of a chat whose results of calls have their texts in one, since DeepSeek and others take lists of texts from users alone.
 * Texts with a mark for the cache stay apart.
 * @returns the body itself where there are none
 */
export function withPlainResults(body: JsonObject): JsonObject {
  const { messages } = body
  if (!Array.isArray(messages) || !messages.some(hasTexts)) return body
  return { ...body, messages: messages.map((message) => (hasTexts(message) ? withText(message) : message)) }
}

/** The bytes that joining the texts of a result adds to it. */
export function jointBytes(content: unknown): number {
  return Array.isArray(content) ? content.length * JOINT.length : 0
}

function hasTexts({ role, content }: JsonObject): boolean {
  return role === 'tool' && Array.isArray(content) && content.every(isPlain)
}

function isPlain({ type, cache_control: mark }: JsonObject): boolean {
  return type === 'text' && mark === undefined
}

function withText(message: JsonObject): JsonObject {
  const texts = (message['content'] as JsonObject[]).map(({ text }) => text)
  return { ...message, content: texts.join(JOINT) }
}
