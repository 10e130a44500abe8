import type { TokenUsage } from '../../../contract/money/charge.ts'
import { countOf, type UsageBounds } from '../../../contract/money/openaiUsage.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'

/**
 * The usage of a Messages answer. A stream reports it in parts that replace each other member by member: the prompt at
 * its beginning, the output at its end, both cumulative.
 */
export class AnthropicUsage {
  /** The usage reported so far; null before the first plausible report. */
  current: TokenUsage | null = null

  private readonly bounds: UsageBounds
  private stated: JsonObject = {}

  constructor(bounds: UsageBounds) {
    this.bounds = bounds
  }

  /**
   * Takes a report; one that is negative, fractional or absurd changes nothing.
   * @returns whether it was taken
   */
  note(report: unknown): boolean {
    if (!isJsonObject(report)) return false
    const stated = { ...this.stated }
    for (const name in report) if (report[name] !== null) stated[name] = report[name]
    const usage = readAnthropicUsage(stated, this.bounds)
    if (usage === null) return false
    this.stated = stated
    this.current = usage
    return true
  }
}

/**
 * Reads a usage object of the Anthropic dialect into the billing classes. Its input_tokens do not include tokens that were
 * read from or written to the cache; writes are split by lifetime, and those without a stated lifetime count as five
 * minutes.
 * @returns null when the report is missing, negative, fractional or beyond `bounds`
 */
export function readAnthropicUsage(value: unknown, bounds: UsageBounds): TokenUsage | null {
  if (!isJsonObject(value)) return null
  const { promptTokensMax, outputTokensMax } = bounds
  const split = isJsonObject(value['cache_creation']) ? value['cache_creation'] : {}
  const input = countOf(value['input_tokens'], promptTokensMax)
  const output = countOf(value['output_tokens'], outputTokensMax)
  const cachedInput = countOf(value['cache_read_input_tokens'] ?? 0, promptTokensMax)
  const hour = countOf(split['ephemeral_1h_input_tokens'] ?? 0, promptTokensMax)
  const minutes = countOf(split['ephemeral_5m_input_tokens'] ?? 0, promptTokensMax)
  if (input === null || output === null || cachedInput === null || hour === null || minutes === null) return null
  const written = countOf(value['cache_creation_input_tokens'] ?? hour + minutes, promptTokensMax)
  if (written === null) return null
  const details = isJsonObject(value['output_tokens_details']) ? value['output_tokens_details'] : {}
  const cacheWrite1h = Math.min(hour, written)
  return {
    input,
    cachedInput,
    cacheWrite5m: written - cacheWrite1h,
    cacheWrite1h,
    output,
    reasoning: countOf(details['thinking_tokens'] ?? 0, output) ?? 0,
  }
}

/** The usage as a client of the Messages format reads it, as JSON text. */
export function anthropicUsageJson(usage: TokenUsage): string {
  const { input, cachedInput, cacheWrite5m, cacheWrite1h, output, reasoning } = usage
  return (
    `{"input_tokens":${input},"cache_creation_input_tokens":${cacheWrite5m + cacheWrite1h}` +
    `,"cache_read_input_tokens":${cachedInput},"cache_creation":{"ephemeral_5m_input_tokens":${cacheWrite5m}` +
    `,"ephemeral_1h_input_tokens":${cacheWrite1h}},"output_tokens":${output}` +
    `,"output_tokens_details":{"thinking_tokens":${reasoning}}}`
  )
}
