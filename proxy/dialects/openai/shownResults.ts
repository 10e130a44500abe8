import type { JsonObject } from '../../../contract/std/jsonObject.ts'

/**
 * The messages of a chat whose results of tools are texts: images and documents in them are shown by the user after the results,
 * since providers of this dialect take them from users alone.
 * @returns the messages themselves where every result is a text
 */
export function shownResults(messages: readonly JsonObject[]): readonly JsonObject[] {
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
