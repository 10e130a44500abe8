import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'

/** Marks of a request that the Messages format takes: platform.claude.com/docs/en/build-with-claude/prompt-caching. */
const MARKS_MAX = 4
const NONE: ReadonlySet<JsonObject> = new Set()

/**
 * A Messages body with as many `cache_control` marks as the format takes: the first, which is that of the tools or the system
 * prompt, and the last ones, which keep the newest turns in the cache.
 * @returns the body itself where it has no more
 */
export function withMarksTaken(body: JsonObject): JsonObject {
  const marked = LISTS.flatMap((name) => partsIn(body[name]).flatMap(markedIn))
  const max = body['cache_control'] === undefined ? MARKS_MAX : MARKS_MAX - 1
  if (marked.length <= max) return body
  return keeping(body, new Set([...marked.slice(0, 1), ...marked.slice(marked.length - max + 1)]))
}

/** A body of a chat, or of the Messages format, without the marks of its parts, for a provider that refuses them. */
export function withoutCacheMarks({ cache_control: _mark, ...body }: JsonObject): JsonObject {
  const unmarkedBody = keeping(body, NONE)
  return { ...unmarkedBody, messages: partsIn(unmarkedBody['messages']).map(withPlainText) }
}

const LISTS = ['tools', 'system', 'messages'] as const

function markedIn(holder: JsonObject): JsonObject[] {
  const inside = partsIn(holder['content']).flatMap(markedIn)
  return holder['cache_control'] === undefined ? inside : [...inside, holder]
}

function keeping(body: JsonObject, kept: ReadonlySet<JsonObject>): JsonObject {
  const lists = LISTS.filter((name) => Array.isArray(body[name]))
  return {
    ...body,
    ...Object.fromEntries(lists.map((name) => [name, partsIn(body[name]).map((one) => unmarked(one, kept))])),
  }
}

function unmarked(holder: JsonObject, kept: ReadonlySet<JsonObject>): JsonObject {
  const { cache_control: mark, ...rest } = holder
  const own = mark === undefined || kept.has(holder) ? holder : rest
  if (!Array.isArray(own['content'])) return own
  return { ...own, content: partsIn(own['content']).map((part) => unmarked(part, kept)) }
}

/** Many of the providers that refuse marks take a text alone as a string only. */
function withPlainText(message: JsonObject): JsonObject {
  const [first, ...others] = partsIn(message['content'])
  return first?.['type'] === 'text' && others.length === 0 ? { ...message, content: first['text'] } : message
}

function partsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}
