import type { Thinking } from '../../../contract/catalog/catalog.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'

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

/** The reasoning_effort that is closest to a budget of thinking tokens. */
export function effortOfBudget(budgetTokens: number, maxTokens: number): string {
  return SHARES.find(([, percent]) => budgetTokens * 100 >= maxTokens * percent)?.[0] ?? 'low'
}
