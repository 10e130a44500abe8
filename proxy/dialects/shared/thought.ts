import { type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'

/** A block of thinking as providers of the Anthropic dialect write it and want it back. */
export type Thought =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }

/** The place of a thought in a message of a chat: before its text, or before one of its calls. */
export interface PlacedThought {
  readonly thought: Thought
  /** null for before the text. */
  readonly beforeCall: number | null
}

const MARK = 'slu1.'
/** Of a packed thought; a longer one is not given out, and not read. */
const CHARACTERS_MAX = 1_048_576

/**
 * A thought as a text that clients keep and send back without looking into it. It is neither encrypted nor authenticated: a
 * client may send any thinking in a Messages request, and whether it was written so is what the provider's own signature
 * proves.
 * @returns '' for one that is too long
 */
export function packThought(thought: Thought): string {
  const packed = MARK + Buffer.from(JSON.stringify(thought)).toString('base64url')
  return packed.length > CHARACTERS_MAX ? '' : packed
}

/** The thought that a text holds; null for a text that another gateway has packed, or that cannot be read. */
export function unpackThought(text: unknown): Thought | null {
  if (typeof text !== 'string' || !text.startsWith(MARK) || text.length > CHARACTERS_MAX) return null
  return thoughtOf(parseJsonObject(Buffer.from(text.slice(MARK.length), 'base64url').toString('utf8')))
}

/** A block of a provider as a thought; null for one that its provider would not take back. */
export function thoughtOf(block: JsonObject | null): Thought | null {
  const { type, thinking, signature, data } = block ?? {}
  if (type === 'thinking' && typeof thinking === 'string' && isText(signature)) return { type, thinking, signature }
  return type === 'redacted_thinking' && isText(data) ? { type, data } : null
}

/** The visible text of a thought. */
export function shownOf(thought: Thought): string {
  return thought.type === 'thinking' ? thought.thinking : ''
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
