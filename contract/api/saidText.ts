import { isJsonObject, type JsonObject } from '../std/jsonObject.ts'

/** The contents of a message or a delta of the OpenAI dialect, besides its tool calls. */
export interface Said {
  text: string
  reasoning: string
  refusal: string
}

/** The members with the text of the answer; the first that holds something counts, because providers repeat it. */
export const TEXT_NAMES = ['content', 'text', 'output_text'] as const
/** The members with the reasoning, likewise. */
export const REASONING_NAMES = [
  'reasoning_content',
  'reasoning',
  'thinking',
  'reasoning_text',
  'thinking_content',
  'thought',
  'reasoning_details',
  'thinking_blocks',
] as const

/** Parts may hold parts, as Mistral's thinking does; deeper ones are not read. */
const PARTS_DEPTH_MAX = 6
/** Where a part holds its text, by its type. */
export const REASONING_PARTS = ['thinking', 'reasoning', 'text', 'summary', 'content']
const REFUSAL_PARTS = ['refusal', 'text', 'content']
/** The same for a part of text. */
export const TEXT_PARTS = ['text', 'content', 'output_text', 'value']

/** The members that may say something besides the content. */
const OTHER_NAMES: ReadonlySet<string> = new Set(['refusal', ...TEXT_NAMES.slice(1), ...REASONING_NAMES])

/** Reads a message or a delta: texts, and arrays of parts of any kind. */
export function saidIn(message: JsonObject): Said {
  const said: Said = { text: '', reasoning: '', refusal: '' }
  const { content } = message
  if (typeof content === 'string' && content !== '' && isPlain(message)) {
    said.text = content
    return said
  }
  for (const name of TEXT_NAMES) {
    if (said.text === '') read(message[name], 'text', said, 0)
  }
  // Thoughts among the parts of the content are what the other members would repeat.
  for (const name of REASONING_NAMES) {
    if (said.reasoning === '') read(message[name], 'reasoning', said, 0)
  }
  if (said.refusal === '') read(message['refusal'], 'refusal', said, 0)
  return said
}

// Most messages are: to look at their few names takes less time than to ask for all those that they do not have.
function isPlain(message: JsonObject): boolean {
  for (const name in message) {
    if (OTHER_NAMES.has(name) && message[name] !== null) return false
  }
  return true
}

function read(value: unknown, kind: keyof Said, into: Said, depth: number): void {
  if (typeof value === 'string') into[kind] += value
  // Servers that parse what the model writes state numbers as such.
  else if (typeof value === 'number') into[kind] += String(value)
  else if (depth >= PARTS_DEPTH_MAX) return
  else if (Array.isArray(value)) for (const part of value) read(part, kind, into, depth + 1)
  else if (isJsonObject(value)) readPart(value, kind, into, depth)
}

function readPart(part: JsonObject, kind: keyof Said, into: Said, depth: number): void {
  const own = kindOf(part, kind)
  const names = own === 'reasoning' ? REASONING_PARTS : own === 'refusal' ? REFUSAL_PARTS : TEXT_PARTS
  const name = names.find((candidate) => holdsText(part[candidate]))
  if (name !== undefined) read(part[name], own, into, depth + 1)
}

// Within reasoning everything is reasoning. A part of text may be marked as a thought.
function kindOf(part: JsonObject, kind: keyof Said): keyof Said {
  const type = typeof part['type'] === 'string' ? part['type'].toLowerCase() : ''
  if (kind === 'reasoning' || /think|reason|thought/.test(type) || part['thought'] === true) return 'reasoning'
  return type === 'refusal' ? 'refusal' : kind
}

function holdsText(value: unknown): boolean {
  return typeof value === 'string' ? value !== '' : typeof value === 'object' && value !== null
}
