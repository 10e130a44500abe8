import { isJsonObject, type JsonObject } from '../std/jsonObject.ts'
import { countOf, type StatedUsage, type UsageBounds } from './statedUsage.ts'

const NAMES: ReadonlySet<string> = new Set([
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'prompt_tokens_details',
  'completion_tokens_details',
])
const PROMPT_NAMES: ReadonlySet<string> = new Set(['cached_tokens', 'audio_tokens', 'text_tokens', 'image_tokens'])
const OUTPUT_NAMES: ReadonlySet<string> = new Set([
  'reasoning_tokens',
  'audio_tokens',
  'text_tokens',
  'accepted_prediction_tokens',
  'rejected_prediction_tokens',
])

/**
 * Reads a report that is exactly as the documentation of chat completions has it and adds up, which nearly all are, at a tenth of the
 * cost of looking for every spelling. @returns null for any other report, whatever it is
 */
export function readDocumentedUsage(value: JsonObject, bounds: UsageBounds): StatedUsage | null {
  if (!hasOnly(value, NAMES)) return null
  const prompt = countOf(value['prompt_tokens'], bounds.promptTokensMax)
  const output = countOf(value['completion_tokens'], bounds.outputTokensMax)
  if (prompt === null || output === null || value['total_tokens'] !== prompt + output) return null
  const cached = detailOf(value['prompt_tokens_details'], PROMPT_NAMES, 'cached_tokens', prompt)
  const reasoning = detailOf(value['completion_tokens_details'], OUTPUT_NAMES, 'reasoning_tokens', output)
  if (cached === undefined || reasoning === undefined) return null
  return { prompt, cached, written: null, writtenHour: null, inside: true, output, reasoning, contradicts: false }
}

/** A count among details; null where it is absent, undefined where the details are not as documented. */
function detailOf(details: unknown, names: ReadonlySet<string>, name: string, max: number): number | null | undefined {
  if (details === undefined || details === null) return null
  if (!isJsonObject(details) || !hasOnly(details, names)) return undefined
  const value = details[name]
  if (value === undefined || value === null) return null
  return countOf(value, max) ?? undefined
}

function hasOnly(value: JsonObject, names: ReadonlySet<string>): boolean {
  for (const name in value) if (!names.has(name)) return false
  return true
}
