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
// The names of OpenAI, of Anthropic, of Gemini, and of the platforms and gateways that speak their formats, all in either case.
const PROMPT = spelled('prompt_tokens', 'input_tokens', 'prompt_token_count', 'input_token_count')
const OUTPUT = spelled(
  'completion_tokens',
  'output_tokens',
  'completion_token_count',
  'output_token_count',
  'candidates_token_count',
)
const TOTAL = spelled('total_tokens', 'total_token_count')
const CACHED = spelled(
  'cached_tokens',
  'num_cached_tokens',
  'cached_input_tokens',
  'prompt_cache_hit_tokens',
  'cache_read_tokens',
  'cache_read_input_tokens',
  'cache_read_input_token_count',
  'cached_content_token_count',
)
const WRITTEN = spelled(
  'cache_write_tokens',
  'cache_write_input_tokens',
  'cache_write_input_token_count',
  'cache_creation_tokens',
  'cache_creation_input_tokens',
  'cached_creation_tokens',
)
const LIFETIMES = spelled('cache_creation', 'cache_creation_token_details')
// The longer names are those of New API, which has them next to the counts.
const HOUR = spelled('ephemeral_1h_input_tokens', 'claude_cache_creation_1_h_tokens')
const MINUTES = spelled('ephemeral_5m_input_tokens', 'claude_cache_creation_5_m_tokens')
const REASONING = spelled('reasoning_tokens', 'thinking_tokens', 'thoughts_token_count')
const PROMPT_DETAILS = detailsOf('prompt', 'input')
const OUTPUT_DETAILS = detailsOf('completion', 'output')
/** Members that only reports have whose prompt excludes the cache. */
const BESIDE = spelled(
  'cache_read_input_tokens',
  'cache_read_input_token_count',
  'cache_write_input_tokens',
  'cache_write_input_token_count',
  'cache_creation_input_tokens',
  'cache_creation',
)
/** Those that only reports have whose prompt includes it. */
const INSIDE = spelled('prompt_tokens', 'prompt_token_count')

/** Names in snake case, and the same in camel case. */
function spelled(...names: readonly string[]): readonly string[] {
  return names.flatMap((name) => [name, name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())])
}

function detailsOf(...sides: readonly string[]): readonly string[] {
  return spelled(...sides.flatMap((side) => [`${side}_tokens_details`, `${side}_token_details`]))
}

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
  const lifetimes = [value, ...prompts.flatMap((place) => objectsOf(place, LIFETIMES))]
  const writtenHour = counts.largest(lifetimes, HOUR, promptTokensMax)
  const minutes = counts.largest(lifetimes, MINUTES, promptTokensMax)
  const split = writtenHour === null && minutes === null ? null : (writtenHour ?? 0) + (minutes ?? 0)
  const written = counts.largest(prompts, WRITTEN, promptTokensMax) ?? split
  const stated = counts.largest([value], OUTPUT, outputTokensMax)
  const outputs = [value, ...objectsOf(value, OUTPUT_DETAILS)]
  const reasoning = counts.largest(outputs, REASONING, outputTokensMax)
  const total = counts.largest([value], TOTAL, promptTokensMax + outputTokensMax)
  const cache = (cached ?? 0) + (written ?? 0)
  const output = stated ?? outputOf(value, { prompt, cache, total }, outputTokensMax)
  const sums = sumsOf({ prompt, cache, output, reasoning: reasoning ?? 0, total })
  const prompted = { prompt, cached, written, writtenHour: split === null ? null : (writtenHour ?? 0) }
  if (bounds.outputFromTotal === true && prompt !== null && total !== null) {
    const inside = spelledInside(value)
    const rest = total - prompt - (inside === false ? cache : 0)
    const thought = Math.max(reasoning ?? 0, rest - (output ?? 0))
    const isMore = rest > (output ?? 0) && rest <= outputTokensMax
    if (isMore) return { inside, output: rest, reasoning: thought, contradicts: counts.broken, ...prompted }
  }
  // No prompt contains more than itself, whatever the total says.
  const isBeside =
    prompt !== null && cache > prompt && BESIDE.some((name) => (countOf(value[name], promptTokensMax) ?? 0) > 0)
  const inside = isBeside ? false : (sums.inside ?? spelledInside(value))
  const isPart = !sums.addsReasoning && output !== null && reasoning !== null && reasoning > output
  const isOverfull = inside === true && prompt !== null && cache > prompt
  return {
    inside,
    output: output !== null && sums.addsReasoning ? output + (reasoning ?? 0) : output,
    reasoning,
    contradicts: counts.broken || sums.contradict || isPart || isOverfull,
    ...prompted,
  }
}

/** The output of a report that states only a total beside the prompt; null for none. */
function outputOf(
  value: JsonObject,
  { prompt, cache, total }: { prompt: number | null; cache: number; total: number | null },
  max: number,
): number | null {
  if (prompt === null || total === null) return null
  // Gemini counts the results of its tools apart from the prompt.
  const tools = countOf(value['toolUsePromptTokenCount'], total) ?? 0
  const rest = total - prompt - tools - (spelledInside(value) === false ? cache : 0)
  return rest > 0 && rest <= max ? rest : null
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
  if (INSIDE.some((name) => isStated(value[name])) || PROMPT_DETAILS.some((name) => isJsonObject(value[name])))
    return true
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
