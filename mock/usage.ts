import type { Behaviour } from './grammar.ts'
import type { ReportedUsage } from './reportedUsage.ts'

export type { ReportedUsage } from './reportedUsage.ts'

const ABSURD_TOKENS = 1e15

/**
 * The usage that a behaviour reports.
 * @param promptTokens counted from the request
 * @param completionTokens content frames sent
 * @returns null when the behaviour reports no usage at all
 */
export function usageOf(behaviour: Behaviour, promptTokens: number, completionTokens: number): ReportedUsage | null {
  const kind = behaviour.words.usage
  const prompt = behaviour.integers.prompt ?? promptTokens
  const completion = behaviour.integers.completion ?? completionTokens
  switch (kind) {
    case 'none':
    case 'start':
    case 'null':
      return null
    case 'zero':
      return usage(0, 0)
    case 'negative':
      return usage(-prompt, -completion)
    case 'fractional':
      return usage(prompt + 0.5, completion + 0.5)
    case 'absurd':
      return usage(ABSURD_TOKENS, ABSURD_TOKENS)
    default:
      return withDetails(usage(prompt, completion), behaviour)
  }
}

function usage(prompt: number, completion: number): ReportedUsage {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

function withDetails(reported: ReportedUsage, behaviour: Behaviour): ReportedUsage {
  const { cached, cache_write: minutes, cache_write_1h: hour, reasoning } = behaviour.integers
  const added = behaviour.quirks?.addedReasoning
  const total = reported.total_tokens + (added === undefined ? 0 : (reasoning ?? 0))
  const whole = { ...reported, total_tokens: total }
  return withTokens(whole, { cached, minutes, hour, reasoning: added === 'total' ? undefined : reasoning })
}

interface DetailTokens {
  readonly cached: number | undefined
  readonly minutes: number | undefined
  readonly hour: number | undefined
  readonly reasoning: number | undefined
}

function withTokens(reported: ReportedUsage, { cached, minutes, hour, reasoning }: DetailTokens): ReportedUsage {
  const cacheWrite = minutes === undefined && hour === undefined ? undefined : (minutes ?? 0) + (hour ?? 0)
  if (cached !== undefined || cacheWrite !== undefined) {
    reported.prompt_tokens_details = {}
    if (cached !== undefined) reported.prompt_tokens_details.cached_tokens = cached
    if (cacheWrite !== undefined) reported.prompt_tokens_details.cache_write_tokens = cacheWrite
    if (hour !== undefined) reported.prompt_tokens_details.cache_write_1h_tokens = hour
  }
  if (reasoning !== undefined) reported.completion_tokens_details = { reasoning_tokens: reasoning }
  return reported
}
