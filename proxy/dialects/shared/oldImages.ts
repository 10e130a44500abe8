import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { leftOut } from './leftOut.ts'

const IMAGES: ReadonlySet<unknown> = new Set(['image', 'image_url'])

/**
 * The body of a chat, or of the Messages format, with notes in place of the images of its history, for a provider that has
 * refused one. Those of a user who waits for the answer stay: the user can send others.
 */
export function withoutOldImages(body: JsonObject): JsonObject {
  const { messages } = body
  return Array.isArray(messages) ? { ...body, messages: withNotesIn(messages) } : body
}

function withNotesIn(messages: readonly JsonObject[]): JsonObject[] {
  const last = messages.length - 1
  return messages.map((message, i) => (i === last && isOfUser(message) ? message : withNotes(message)))
}

function isOfUser({ role, content }: JsonObject): boolean {
  return role === 'user' && !partsIn(content).some((part) => part['type'] === 'tool_result')
}

function withNotes(holder: JsonObject): JsonObject {
  const { content } = holder
  if (!Array.isArray(content)) return holder
  return { ...holder, content: content.map((part) => (isJsonObject(part) ? noteOf(part) : part)) }
}

function noteOf(part: JsonObject): JsonObject {
  if (part['type'] === 'tool_result') return withNotes(part)
  return IMAGES.has(part['type']) ? { type: 'text', text: leftOut('image') } : part
}

function partsIn(content: unknown): readonly JsonObject[] {
  return Array.isArray(content) ? content.filter(isJsonObject) : []
}
