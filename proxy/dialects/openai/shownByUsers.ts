import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { leftOut } from '../shared/leftOut.ts'

/**
 * The messages of a chat in which neither tools nor the assistant show images and documents, since providers of this dialect take
 * them from neither: those in results are shown by the user after the results, and notes take the place of the assistant's.
 * @returns the messages themselves where there are none
 */
export function shownByUsers(messages: readonly JsonObject[]): readonly JsonObject[] {
  if (messages.every(isTaken)) return messages
  return shownResults(messages.map((message) => (message['role'] === 'tool' ? message : withNotes(message))))
}

function isTaken({ role, content }: JsonObject): boolean {
  const isFree = role !== 'assistant' && role !== 'tool'
  return isFree || !Array.isArray(content) || (content as JsonObject[]).every(({ type }) => SAID.has(type))
}

const SAID: ReadonlySet<unknown> = new Set(['text', 'refusal'])

function withNotes(message: JsonObject): JsonObject {
  if (isTaken(message)) return message
  const content = partsOf(message).map((part) =>
    SAID.has(part['type'])
      ? part
      : { type: 'text', text: leftOut(part['type'] === 'image_url' ? 'image' : part['type']) },
  )
  return { ...message, content }
}

function shownResults(messages: readonly JsonObject[]): readonly JsonObject[] {
  if (!messages.some((message) => partsShown(message).length > 0)) return messages
  const written: JsonObject[] = []
  let shown: JsonObject[] = []
  for (const message of messages) {
    if (message['role'] === 'tool') {
      const parts = partsShown(message)
      shown.push(...parts)
      written.push(parts.length === 0 ? message : { ...message, content: textsOf(message) })
      continue
    }
    const isSaid = message['role'] === 'user' && shown.length > 0
    if (shown.length > 0 && !isSaid) written.push({ role: 'user', content: shown })
    written.push(isSaid ? { ...message, content: [...shown, ...partsOf(message)] } : message)
    shown = []
  }
  return shown.length === 0 ? written : [...written, { role: 'user', content: shown }]
}

function partsShown(message: JsonObject): JsonObject[] {
  return message['role'] === 'tool' ? partsOf(message).filter(({ type }) => type !== 'text') : []
}

function textsOf(message: JsonObject): JsonObject[] | string {
  const texts = partsOf(message).filter(({ type }) => type === 'text')
  return texts.length === 0 ? '' : texts
}

function partsOf({ content }: JsonObject): JsonObject[] {
  if (Array.isArray(content)) return content as JsonObject[]
  return typeof content === 'string' ? [{ type: 'text', text: content }] : []
}
