import { type CallPiece, callPieces } from '../../../../contract/api/callPiece.ts'
import { nestsDeeper } from '../../../../contract/std/jsonDepth.ts'
import { isJsonObject, type JsonObject } from '../../../../contract/std/jsonObject.ts'

/** A part of a message, as the conventions have it. */
export type Part = JsonObject & { readonly type: string }

/** Words of clients, such as types of parts, in UTF-16 code units: a name is short, and no place for a content. */
const WORD_MAX = 64
/** Results of calls have parts; results among these are not read. */
const PARTS_DEPTH_MAX = 2
/** Arguments that nest deeper stay a text. */
const ARGUMENTS_DEPTH_MAX = 64

const TEXTS: ReadonlySet<unknown> = new Set(['text', 'input_text', 'output_text', undefined])
const CALLS: ReadonlySet<unknown> = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use'])
/** Members of a message that say something of another kind, by their types. */
const ASIDES = [
  ['reasoning_content', 'reasoning'],
  ['reasoning', 'reasoning'],
  ['audio', 'audio'],
  ['images', 'image'],
] as const

/** The parts of a content: a text, or a list of parts in any of the formats. Of images, files, sound and thoughts it has the type alone. */
export function partsOf(content: unknown, depth = 0): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [textPart(content)]
  if (!Array.isArray(content)) return isJsonObject(content) ? [partOf(content, depth)] : []
  return content.flatMap((part: unknown) =>
    typeof part === 'string' ? [textPart(part)] : isJsonObject(part) ? [partOf(part, depth)] : [],
  )
}

/** The parts of a message of chat completions: its content, its refusal and its calls. */
export function messageParts(message: JsonObject): Part[] {
  const { content, refusal } = message
  const asides = new Set(ASIDES.filter(([name]) => isSaid(message[name])).map(([, type]) => type))
  return [
    ...[...asides].map((type) => ({ type })),
    ...partsOf(content),
    ...partsOf(refusal),
    ...callPieces(message).map(callPart),
  ]
}

export function textPart(content: string): Part {
  return { type: 'text', content }
}

/** A call of a tool. @param input its arguments: JSON text, which is read, or any value */
export function toolCall(id: unknown, name: unknown, input: unknown): Part {
  return { type: 'tool_call', id: wordOf(id) ?? null, name: wordOf(name) ?? '', arguments: argumentsOf(input) }
}

/** The answer of a tool: a text, or parts. */
export function toolResponse(id: unknown, answer: unknown, depth = 0): Part {
  const said = Array.isArray(answer) || isJsonObject(answer) ? partsOf(answer, depth + 1) : answer
  return { type: 'tool_call_response', id: wordOf(id) ?? null, response: said ?? null }
}

/** A name or an id of a client; undefined for anything else. */
export function wordOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, WORD_MAX) : undefined
}

function partOf(part: JsonObject, depth: number): Part {
  const { type, text } = part
  if (TEXTS.has(type) && typeof text === 'string') return textPart(text)
  if (type === 'refusal' && typeof part['refusal'] === 'string') return textPart(part['refusal'])
  if (CALLS.has(type)) return toolCall(part['id'], part['name'], part['input'])
  if (type === 'tool_result' && depth < PARTS_DEPTH_MAX) {
    return toolResponse(part['tool_use_id'], part['content'], depth)
  }
  return { type: wordOf(type) ?? 'unknown' }
}

function callPart({ id, name, arguments: text }: CallPiece): Part {
  return toolCall(id, name, text)
}

function argumentsOf(input: unknown): unknown {
  if (typeof input !== 'string') return input ?? null
  if (nestsDeeper(Buffer.from(input), ARGUMENTS_DEPTH_MAX)) return input
  try {
    return JSON.parse(input) as unknown
  } catch {
    return input
  }
}

function isSaid(value: unknown): boolean {
  return typeof value === 'string' || Array.isArray(value) ? value.length > 0 : isJsonObject(value)
}
