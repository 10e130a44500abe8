import { promptTokens, type TokenUsage } from './charge.ts'

/** The bounds of plausible usage; a report beyond them counts as missing. */
export interface UsageBounds {
  readonly promptTokensMax: number
  readonly outputTokensMax: number
}

/** A report may exceed the model's limits by this factor before it is treated as a fault. */
const PLAUSIBLE_FACTOR = 2

/** Bounds for a model's context window and largest output. */
export function usageBounds(context: number, maxOutput: number): UsageBounds {
  return {
    promptTokensMax: context * PLAUSIBLE_FACTOR,
    outputTokensMax: maxOutput * PLAUSIBLE_FACTOR,
  }
}

/**
 * Reads a usage object of the OpenAI dialect into the billing classes. Cached and cache-written tokens are part of
 * prompt_tokens and are taken out of it, so that no token is billed twice.
 * @returns null when the report is missing, negative, fractional or absurd
 */
export function readUsage(value: unknown, bounds: UsageBounds): TokenUsage | null {
  if (typeof value !== 'object' || value === null) return null
  const prompt = countOf(Reflect.get(value, 'prompt_tokens'), bounds.promptTokensMax)
  const output = countOf(Reflect.get(value, 'completion_tokens'), bounds.outputTokensMax)
  if (prompt === null || output === null) return null
  const promptDetails = details(value, 'prompt_tokens_details')
  const cachedCount = memberOf(promptDetails, 'cached_tokens') ?? Reflect.get(value, 'prompt_cache_hit_tokens') ?? 0
  const cached = countOf(cachedCount, bounds.promptTokensMax)
  const written = countOf(memberOf(promptDetails, 'cache_write_tokens') ?? 0, bounds.promptTokensMax)
  if (cached === null || written === null) return null
  const reasoning = countOf(memberOf(details(value, 'completion_tokens_details'), 'reasoning_tokens') ?? 0, output)
  const cachedInput = Math.min(cached, prompt)
  const cacheWrite5m = Math.min(written, prompt - cachedInput)
  return {
    input: prompt - cachedInput - cacheWrite5m,
    cachedInput,
    cacheWrite5m,
    cacheWrite1h: 0,
    output,
    reasoning: reasoning ?? 0,
  }
}

/** A count that a provider reports, or null when it is invalid: missing, negative, fractional, above `max`. */
export function countOf(value: unknown, max: number): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= max ? value : null
}

function details(value: object, name: string): object | null {
  const found: unknown = Reflect.get(value, name)
  return typeof found === 'object' ? found : null
}

function memberOf(value: object | null, name: string): unknown {
  return value === null ? undefined : (Reflect.get(value, name) ?? undefined)
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
