import { promptTokens, type TokenUsage } from './charge.ts'
import type { UsageBounds } from './statedUsage.ts'

/** A report may exceed the model's limits by this factor before it is treated as a fault. */
const PLAUSIBLE_FACTOR = 2

/**
 * Bounds for a model's context window and largest output.
 * @param outputFromTotal see UsageBounds
 */
export function usageBounds(context: number, maxOutput: number, outputFromTotal = false): UsageBounds {
  return {
    outputFromTotal,
    promptTokensMax: context * PLAUSIBLE_FACTOR,
    outputTokensMax: maxOutput * PLAUSIBLE_FACTOR,
  }
}

/** The usage as a client of the OpenAI dialect reads it, as JSON text. */
export function usageJson(usage: TokenUsage): string {
  const prompt = promptTokens(usage)
  const written = usage.cacheWrite5m + usage.cacheWrite1h
  return (
    `{"prompt_tokens":${prompt},"completion_tokens":${usage.output},"total_tokens":${prompt + usage.output}` +
    `,"prompt_tokens_details":{"cached_tokens":${usage.cachedInput}${written > 0 ? `,"cache_write_tokens":${written}` : ''}}` +
    `,"completion_tokens_details":{"reasoning_tokens":${usage.reasoning}}}`
  )
}
