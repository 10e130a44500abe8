import type { Thinking } from '../../../contract/catalog/catalog.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { lacksThought } from './foreignThoughts.ts'

/** The least budget that the format takes. */
export const THINKING_TOKENS_MIN = 1_024
/** Beyond this an answer would outlast the time that it is given. */
const THINKING_TOKENS_MAX = 32_768

/** The share of an answer's tokens that an effort thinks with, in percent; from the most to the least. */
const SHARES: readonly (readonly [effort: string, percent: number])[] = [
  ['high', 80],
  ['medium', 50],
  ['low', 20],
]
const EFFORTS: ReadonlyMap<unknown, string> = new Map([
  ['minimal', 'low'],
  ['low', 'low'],
  ['medium', 'medium'],
  ['high', 'high'],
  ['xhigh', 'high'],
  ['max', 'max'],
])

/**
 * The members of a Messages body that make a model think with a reasoning_effort.
 * @param maxTokens the output limit that the hold pays for; a budget stays within it
 * @returns null when the model does not think, or not within this limit
 */
export function thinkingMembers(thinking: Thinking, effort: unknown, maxTokens: number): JsonObject | null {
  const named = EFFORTS.get(effort)
  if (named === undefined || thinking === 'none') return null
  if (thinking === 'effort') return { thinking: { type: 'adaptive' }, output_config: { effort: named } }
  if (maxTokens <= THINKING_TOKENS_MIN) return null
  const percent = SHARES.find(([name]) => name === named)?.[1] ?? 80
  const share = Math.floor((maxTokens * percent) / 100)
  const budget = Math.max(THINKING_TOKENS_MIN, Math.min(share, THINKING_TOKENS_MAX))
  return { thinking: { type: 'enabled', budget_tokens: budget } }
}

/**
 * A checked Messages body with its thinking in the form that the model takes: models with a budget refuse adaptive thinking, and
 * models with an effort refuse budgets. One that does not think gets neither.
 * @param maxTokens the output limit, or the model's where there is none
 */
export function fittingThinking(native: JsonObject, kind: Thinking, maxTokens: number): JsonObject {
  const { thinking: asked, output_config: config, ...rest } = native
  const thinking = asked as JsonObject | undefined
  const { effort, ...stated } = (config ?? {}) as JsonObject
  const others = Object.keys(stated).length === 0 ? {} : { output_config: stated }
  if (kind === 'none') return { ...rest, ...others }
  const type = thinking?.['type']
  const { display } = thinking ?? {}
  const shown = display === undefined ? {} : { display }
  if (kind === 'effort' && type === 'enabled') {
    const closest = effort ?? effortOfBudget(Number(thinking?.['budget_tokens']), maxTokens)
    return { ...rest, thinking: { type: 'adaptive', ...shown }, output_config: { ...stated, effort: closest } }
  }
  if (kind === 'effort' || type === undefined || type === 'enabled' || type === 'disabled') return native
  const budget = thinkingMembers('budget', EFFORTS.has(effort) ? effort : 'high', maxTokens)
  if (budget === null || lacksThought(native['messages'] as JsonObject[])) return { ...rest, ...others }
  return { ...rest, ...others, thinking: { ...(budget['thinking'] as JsonObject), ...shown } }
}

/** The reasoning_effort that is closest to a budget of thinking tokens. */
export function effortOfBudget(budgetTokens: number, maxTokens: number): string {
  return SHARES.find(([, percent]) => budgetTokens * 100 >= maxTokens * percent)?.[0] ?? 'low'
}
