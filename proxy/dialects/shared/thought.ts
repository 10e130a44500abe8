import { jsonBytes } from '../../../contract/api/completion.ts'
import { CALL_MEMBER } from '../../../contract/catalog/requestForm.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { isPacked, type PackBound, pack, unpack } from './packed.ts'

/** The member of a tool call that its provider wants back with it, which precedes the call as thinking does. */
export interface CallThought {
  readonly type: 'call_member'
  readonly member: JsonObject
}

/** A block of thinking as providers of the Anthropic dialect write it and want it back. */
export type BlockThought =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }

/** A thought of any kind, which clients keep for its provider and send back. */
export type Thought = BlockThought | CallThought

/** The place of a thought in a message of a chat: before its text, or before one of its calls. */
export interface PlacedThought {
  readonly thought: BlockThought
  /** null for before the text. */
  readonly beforeCall: number | null
}

/**
 * A thought as a text that clients keep and send back without looking into it. It is neither encrypted nor authenticated: a
 * client may send any thinking in a Messages request, and whether it was written so is what the provider's own signature
 * proves.
 * @returns '' for one that is too long
 */
export function packThought(thought: Thought, bound: PackBound): string {
  return pack(thought, bound)
}

/** The thought that a text holds; null for a text that another gateway has packed, or that cannot be read. */
export function unpackThought(text: unknown, bound: PackBound): Thought | null {
  const packed = unpack(text, bound)
  const { type, member } = packed ?? {}
  return type === 'call_member' && isJsonObject(member) ? { type, member } : thoughtOf(packed)
}

/** The member of a call that precedes it as a thought; null where the provider wants none back. */
export function callThought(extra: JsonObject | null | undefined): CallThought | null {
  const member = extra?.[CALL_MEMBER]
  return isJsonObject(member) ? { type: 'call_member', member } : null
}

/** A block of a provider as a thought; null for one that its provider would not take back. */
export function thoughtOf(block: JsonObject | null): BlockThought | null {
  const { type, thinking, signature, data } = block ?? {}
  if (type === 'thinking' && typeof thinking === 'string' && isOfProvider(signature))
    return { type, thinking, signature }
  return type === 'redacted_thinking' && isOfProvider(data) ? { type, data } : null
}

/** Counts a member that goes back to a provider in the prompt. */
export function countMember({ member }: CallThought, size: PromptSize): void {
  size.callMembers = true
  size.textBytes += jsonBytes(member)
}

/** Puts the member that came before a call back into it, measured. @param call of a chat */
export function giveBack(call: JsonObject, thought: CallThought | null, size: PromptSize): void {
  if (thought === null) return
  countMember(thought, size)
  call[CALL_MEMBER] = thought.member
}

/** A thought as a block that clients of Messages send back without looking into it; null for none, or one that is too long. */
export function packedBlock(thought: Thought | null, bound: PackBound): JsonObject | null {
  const data = thought === null ? '' : packThought(thought, bound)
  return data === '' ? null : redactedThinking(data)
}

/** A block of a message whose data only its writer reads. */
export function redactedThinking(data: string): JsonObject {
  return { type: 'redacted_thinking', data }
}

/** The visible text of a thought. */
export function shownOf(thought: Thought): string {
  return thought.type === 'thinking' ? thought.thinking : ''
}

function isOfProvider(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !isPacked(value)
}
