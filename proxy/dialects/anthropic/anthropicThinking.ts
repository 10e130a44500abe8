import type { Thinking } from '../../../contract/catalog/catalog.ts'
import type { RequestPart } from '../../../contract/providers/requestPart.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { fittingEffort } from '../shared/topEffort.ts'
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
  ['xhigh', 'xhigh'],
  ['max', 'max'],
])

/** Whether the format has a word for a reasoning_effort, or needs none. */
export function isEffort(effort: unknown): boolean {
  return effort === undefined || effort === 'none' || EFFORTS.has(effort)
}

/** Models since Opus 4.7 think unseen where nothing is said. Source: platform.claude.com/docs/en/build-with-claude/extended-thinking. */
const SHOWN = { display: 'summarized' } as const

/** The options of a chat by which `thinkingMembers` has a model think, without those that its provider has refused. */
export function thinkingOptions(effort: unknown, kind: Thinking, leavesOut: readonly RequestPart[] = []): JsonObject {
  return {
    effort: takenEffort(effort, kind, leavesOut),
    ...(!leavesOut.includes('shownThoughts') && SHOWN),
  }
}

function takenEffort(effort: unknown, kind: Thinking, leavesOut: readonly RequestPart[]): unknown {
  if (effort === 'none' && kind === 'effort' && leavesOut.includes('thinkingOff')) return 'low'
  return fittingEffort(effort, leavesOut)
}

/** A body whose thinking is in the form that its model takes, without what its provider has refused of it. */
export function withoutRefusedThinking(
  native: JsonObject,
  kind: Thinking,
  leavesOut: readonly RequestPart[] = [],
): JsonObject {
  if (leavesOut.length === 0) return native
  const { thinking: stated, output_config: config, ...rest } = native
  const { display, ...thinking } = isJsonObject(stated) ? stated : {}
  const isOff = thinking['type'] === 'disabled' && leavesOut.includes('thinkingOff')
  const { effort, ...others } = isJsonObject(config) ? config : {}
  const asked = isOff && kind === 'effort' ? 'none' : effort
  const taken = leavesOut.includes('effort') ? undefined : takenEffort(asked, kind, leavesOut)
  const shown = display === undefined || leavesOut.includes('shownThoughts') ? {} : { display }
  const hasConfig = taken !== undefined || Object.keys(others).length > 0
  return {
    ...rest,
    ...(stated !== undefined && !isOff && { thinking: { ...thinking, ...shown } }),
    ...(hasConfig && { output_config: taken === undefined ? others : { ...others, effort: taken } }),
  }
}

/**
 * The members of a Messages body that make a model think with a reasoning_effort, or not at all where it is none.
 * @param options from `thinkingOptions`
 * @param maxTokens the output limit that the hold pays for; a budget stays within it
 * @returns null when the model does not think, or not within this limit
 */
export function thinkingMembers(
  thinking: Thinking,
  { effort, display }: JsonObject,
  maxTokens: number,
): JsonObject | null {
  // Models with an effort think by themselves since Opus 5.
  if (effort === 'none' && thinking === 'effort') return { thinking: { type: 'disabled' } }
  const named = EFFORTS.get(effort)
  if (named === undefined || thinking === 'none') return null
  const shown = display === undefined ? {} : { display }
  if (thinking === 'effort') return { thinking: { type: 'adaptive', ...shown }, output_config: { effort: named } }
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
  const shown = display === undefined ? SHOWN : { display }
  if (kind === 'effort' && type === 'enabled') {
    const closest = effort ?? effortOfBudget(Number(thinking?.['budget_tokens']), maxTokens)
    return { ...rest, thinking: { type: 'adaptive', ...shown }, output_config: { ...stated, effort: closest } }
  }
  if (!wantsBudget(native, kind)) return native
  const options = budgetOptions(native, kind)
  const budget = options === null ? null : budgetOf(options, maxTokens)
  return budget === null ? { ...rest, ...others } : { ...rest, ...others, thinking: budget }
}

/** Whether the thinking of a body is to become a budget. */
function wantsBudget({ thinking }: JsonObject, kind: Thinking): boolean {
  const { type } = (thinking ?? {}) as JsonObject
  return kind === 'budget' && type !== undefined && type !== 'enabled' && type !== 'disabled'
}

/** The effort, and whether thinking is shown, of thinking that becomes a budget; null where there is none. */
export function budgetOptions(
  native: JsonObject,
  kind: Thinking,
  leavesOut: readonly RequestPart[] = [],
): JsonObject | null {
  if (!wantsBudget(native, kind) || lacksThought(native['messages'] as JsonObject[])) return null
  const { display } = native['thinking'] as JsonObject
  const { effort } = (native['output_config'] ?? {}) as JsonObject
  const isShown = display !== undefined && !leavesOut.includes('shownThoughts')
  return { effort: EFFORTS.has(effort) ? effort : 'high', ...(isShown && { display }) }
}

/** The member `thinking` with a trailing comma, for a limit that the hold pays for; '' where it leaves no room. */
export function thinkingText(options: JsonObject, maxTokens: number): string {
  const budget = budgetOf(options, maxTokens)
  return budget === null ? '' : `"thinking":${JSON.stringify(budget)},`
}

function budgetOf({ effort, ...shown }: JsonObject, maxTokens: number): JsonObject | null {
  const members = thinkingMembers('budget', { effort }, maxTokens)
  return members === null ? null : { ...(members['thinking'] as JsonObject), ...shown }
}

/** The reasoning_effort that is closest to a budget of thinking tokens. */
export function effortOfBudget(budgetTokens: number, maxTokens: number): string {
  return SHARES.find(([, percent]) => budgetTokens * 100 >= maxTokens * percent)?.[0] ?? 'low'
}
