import type { HistoryPart } from '../../../contract/providers/providerFault.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { leftOut } from './leftOut.ts'

/** The notes by the type of a part of a chat, or of a block of the Messages format. */
const NOTES: Readonly<Partial<Record<HistoryPart, ReadonlyMap<unknown, string>>>> = {
  images: new Map([
    ['image', leftOut('image')],
    ['image_url', leftOut('image')],
  ]),
  documents: new Map([
    ['document', leftOut('document')],
    ['file', leftOut('input_file')],
  ]),
}
const NONE: ReadonlyMap<unknown, string> = new Map()

/**
 * The body of a chat, or of the Messages format, with notes in place of the images and documents of its history that a provider
 * has refused. Those of a user who waits for the answer stay: the user can send others.
 */
export function withoutOldMedia(body: JsonObject, leavesOut: readonly HistoryPart[] = []): JsonObject {
  const { messages } = body
  if (leavesOut.length === 0 || !Array.isArray(messages)) return body
  const notes = new Map(leavesOut.flatMap((part) => [...(NOTES[part] ?? NONE)]))
  const last = messages.length - 1
  const shown = (messages as JsonObject[]).map((message, i) =>
    i === last && isOfUser(message) ? message : withNotes(message, notes),
  )
  return { ...body, messages: shown }
}

function isOfUser({ role, content }: JsonObject): boolean {
  return role === 'user' && !partsIn(content).some((part) => part['type'] === 'tool_result')
}

function withNotes(holder: JsonObject, notes: ReadonlyMap<unknown, string>): JsonObject {
  const { content } = holder
  if (!Array.isArray(content)) return holder
  return { ...holder, content: content.map((part) => (isJsonObject(part) ? noteOf(part, notes) : part)) }
}

function noteOf(part: JsonObject, notes: ReadonlyMap<unknown, string>): JsonObject {
  const { type } = part
  if (type === 'tool_result') return withNotes(part, notes)
  const text = notes.get(type)
  return text === undefined ? part : { type: 'text', text }
}

function partsIn(content: unknown): readonly JsonObject[] {
  return Array.isArray(content) ? content.filter(isJsonObject) : []
}
