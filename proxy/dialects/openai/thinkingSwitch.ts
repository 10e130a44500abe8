import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'

/** The effort where thinking is switched on without saying how much. */
const USUAL = 'medium'
const OFF = 'none'
const WORD = /^[\w-]{1,32}$/

/** The members by which clients of various providers say how much to think; each gives an effort, or null for none. */
const SWITCHES: Readonly<Record<string, (value: unknown) => string | null>> = {
  reasoning: (value) =>
    isJsonObject(value) ? (word(value['effort']) ?? onOff(value['enabled']) ?? budget(value['max_tokens'])) : null,
  thinking: (value) => (isJsonObject(value) ? typed(value['type']) : onOff(value)),
  enable_thinking: onOff,
  chat_template_kwargs: (value) =>
    isJsonObject(value) ? (onOff(value['enable_thinking']) ?? onOff(value['thinking'])) : null,
  think: (value) => onOff(value) ?? word(value),
  thinking_budget: budget,
}

/** The names of these members. */
export const SWITCH_NAMES: readonly string[] = Object.keys(SWITCHES)

/** How much a request wants its model to think. */
export interface Effort {
  /** By the words of reasoning_effort, `none` for not at all; null where nothing is said. */
  readonly effort: string | null
  /** The members that say it, other than reasoning_effort. */
  readonly names: readonly string[]
}

/**
 * Reads the effort in any of its spellings; reasoning_effort counts before all others. Other values are ignored.
 * @param body with what a client has put into `extra_body`
 */
export function readEffort(body: JsonObject): Effort {
  const names = SWITCH_NAMES.filter((name) => body[name] !== undefined && body[name] !== null)
  const { reasoning_effort: stated } = body
  if (typeof stated === 'string') return { effort: stated, names }
  for (const name of names) {
    const effort = SWITCHES[name]?.(body[name]) ?? null
    if (effort !== null) return { effort, names }
  }
  return { effort: null, names }
}

function onOff(value: unknown): string | null {
  return typeof value === 'boolean' ? (value ? USUAL : OFF) : null
}

function typed(type: unknown): string | null {
  if (type === 'disabled') return OFF
  return type === 'enabled' || type === 'adaptive' || type === 'auto' ? USUAL : null
}

function word(value: unknown): string | null {
  return typeof value === 'string' && WORD.test(value) ? value : null
}

function budget(value: unknown): string | null {
  return typeof value === 'number' ? (value > 0 ? USUAL : OFF) : null
}
