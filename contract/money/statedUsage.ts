import { isJsonObject, type JsonObject } from '../std/jsonObject.ts'

/** The bounds of plausible usage; a count beyond them is a broken one. */
export interface UsageBounds {
  readonly promptTokensMax: number
  readonly outputTokensMax: number
  /** The output of a report is what its total has beside the prompt; absent is false. */
  readonly outputFromTotal?: boolean
}

/**
 * The counts of one report, in tokens. A count is null where the report has none that can be read: none at all, or one that is
 * negative, fractional or beyond the bounds.
 */
export interface StatedUsage {
  /** With the cached and the written ones where those are `inside`, else without them. */
  readonly prompt: number | null
  readonly cached: number | null
  /** Written to the cache, of every lifetime. */
  readonly written: number | null
  /** Those of them that are kept for an hour; null where the report has no lifetimes. */
  readonly writtenHour: number | null
  /** Whether the prompt contains the cached and written tokens; null where the report does not show it. */
  readonly inside: boolean | null
  /** With the reasoning. */
  readonly output: number | null
  readonly reasoning: number | null
  /** Its counts do not add up, or one of them is broken. */
  readonly contradicts: boolean
}

const DIGITS = /^[0-9]{1,15}$/
// The spellings of OpenAI, of Anthropic, of the platforms that speak their formats, and of gateways built on the AI SDK.
const PROMPT = ['prompt_tokens', 'input_tokens', 'promptTokens', 'inputTokens'] as const
const OUTPUT = ['completion_tokens', 'output_tokens', 'completionTokens', 'outputTokens'] as const
const TOTAL = ['total_tokens', 'totalTokens'] as const
const CACHED = ['cached_tokens', 'prompt_cache_hit_tokens', 'cache_read_input_tokens', 'cachedInputTokens'] as const
const WRITTEN = ['cache_write_tokens', 'cache_creation_input_tokens', 'cache_creation_tokens'] as const
const REASONING = ['reasoning_tokens', 'thinking_tokens', 'reasoningTokens'] as const
const PROMPT_DETAILS = ['prompt_tokens_details', 'input_tokens_details']
const OUTPUT_DETAILS = ['completion_tokens_details', 'output_tokens_details']
/** Members that only reports have whose prompt excludes the cache. */
const BESIDE = ['cache_read_input_tokens', 'cache_creation_input_tokens', 'cache_creation']

/** A count that a provider reports, also as a text, or null when it is invalid: missing, negative, fractional, above `max`. */
export function countOf(value: unknown, max: number): number | null {
  if (typeof value === 'string') return DIGITS.test(value) ? countOf(Number(value), max) : null
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= max ? value : null
}

/**
 * Reads a usage object in any spelling. Whether reasoning is part of the output, and the cache part of the prompt, is
 * decided by the total of the report itself, and only without one by the convention of its spelling.
 */
export function readStatedUsage(value: JsonObject, bounds: UsageBounds): StatedUsage {
  const { promptTokensMax, outputTokensMax } = bounds
  const prompts = [value, ...objectsOf(value, PROMPT_DETAILS)]
  const counts = new Counts()
  const prompt = counts.largest([value], PROMPT, promptTokensMax)
  const cached = counts.largest(prompts, CACHED, promptTokensMax)
  const lifetimes = prompts.flatMap((place) => objectsOf(place, ['cache_creation']))
  const writtenHour = counts.largest(lifetimes, ['ephemeral_1h_input_tokens'], promptTokensMax)
  const minutes = counts.largest(lifetimes, ['ephemeral_5m_input_tokens'], promptTokensMax)
  const split = writtenHour === null && minutes === null ? null : (writtenHour ?? 0) + (minutes ?? 0)
  const written = counts.largest(prompts, WRITTEN, promptTokensMax) ?? split
  const output = counts.largest([value], OUTPUT, outputTokensMax)
  const outputs = [value, ...objectsOf(value, OUTPUT_DETAILS)]
  const reasoning = counts.largest(outputs, REASONING, outputTokensMax)
  const total = counts.largest([value], TOTAL, promptTokensMax + outputTokensMax)
  const sums = sumsOf({ prompt, cache: (cached ?? 0) + (written ?? 0), output, reasoning: reasoning ?? 0, total })
  const prompted = { prompt, cached, written, writtenHour: split === null ? null : (writtenHour ?? 0) }
  if (bounds.outputFromTotal === true && prompt !== null && total !== null) {
    const inside = spelledInside(value)
    const rest = total - prompt - (inside === false ? (cached ?? 0) + (written ?? 0) : 0)
    const thought = Math.max(reasoning ?? 0, rest - (output ?? 0))
    const isMore = rest > (output ?? 0) && rest <= outputTokensMax
    if (isMore) return { inside, output: rest, reasoning: thought, contradicts: counts.broken, ...prompted }
  }
  const inside = sums.inside ?? spelledInside(value)
  const isPart = !sums.addsReasoning && output !== null && reasoning !== null && reasoning > output
  const isOverfull = inside === true && prompt !== null && (cached ?? 0) + (written ?? 0) > prompt
  return {
    inside,
    output: output !== null && sums.addsReasoning ? output + (reasoning ?? 0) : output,
    reasoning,
    contradicts: counts.broken || sums.contradict || isPart || isOverfull,
    ...prompted,
  }
}

interface Sums {
  /** Whether the total contains the cache as a part of the prompt; null where it does not show it. */
  readonly inside: boolean | null
  readonly addsReasoning: boolean
  readonly contradict: boolean
}

const UNTOLD: Sums = { inside: null, addsReasoning: false, contradict: false }

/** Finds the sum that the total of a report is. */
function sumsOf(counts: {
  prompt: number | null
  cache: number
  output: number | null
  reasoning: number
  total: number | null
}): Sums {
  const { prompt, cache, output, reasoning, total } = counts
  if (prompt === null || output === null || total === null) return UNTOLD
  const rest = total - prompt - output
  const inside = cache > 0 ? true : null
  if (rest === 0) return { inside, addsReasoning: false, contradict: false }
  if (reasoning > 0 && rest === reasoning) return { inside, addsReasoning: true, contradict: false }
  if (cache > 0 && rest === cache) return { inside: false, addsReasoning: false, contradict: false }
  if (cache > 0 && rest === cache + reasoning) return { inside: false, addsReasoning: true, contradict: false }
  return { ...UNTOLD, contradict: true }
}

function spelledInside(value: JsonObject): boolean | null {
  if (isStated(value['prompt_tokens']) || PROMPT_DETAILS.some((name) => isJsonObject(value[name]))) return true
  return BESIDE.some((name) => isStated(value[name])) ? false : null
}

function isStated(value: unknown): boolean {
  return value !== undefined && value !== null
}

function objectsOf(value: JsonObject, names: readonly string[]): JsonObject[] {
  return names.map((name) => value[name]).filter(isJsonObject)
}

class Counts {
  /** A count was stated that cannot be one. */
  broken = false

  /** The largest valid count under one of the names, because some providers fill in all spellings, unused ones with 0. */
  largest(places: readonly JsonObject[], names: readonly string[], max: number): number | null {
    let found: number | null = null
    for (const place of places) {
      for (const name of names) {
        const value = place[name]
        if (!isStated(value)) continue
        const count = countOf(value, max)
        if (count === null) this.broken = true
        else found = Math.max(found ?? 0, count)
      }
    }
    return found
  }
}
