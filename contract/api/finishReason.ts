import { isJsonObject } from '../std/jsonObject.ts'

/** Why a message ends, by the names of chat completions. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/** A provider's own word for a failure: what was written so far is all that there is of the answer. */
export type GivenReason = FinishReason | 'error'

const WORDS: Readonly<Record<GivenReason, readonly string[]>> = {
  stop: ['stop', 'eos', 'eos_token', 'end_turn', 'stop_sequence', 'end', 'finished', 'complete', 'completed'],
  length: [
    'length',
    'max_tokens',
    'max_output_tokens',
    'max_new_tokens',
    'max_length',
    'max_output',
    'model_length',
    'token_limit',
    'time_limit',
    'error_limit',
    'model_context_window_exceeded',
    'context_length_exceeded',
  ],
  tool_calls: ['tool_calls', 'tool_call', 'tool_use', 'function_call', 'function_calls'],
  content_filter: [
    'content_filter',
    'content_filtered',
    'safety',
    'refusal',
    'recitation',
    'blocklist',
    'prohibited_content',
    'spii',
    'sensitive',
    'image_safety',
    'image_prohibited_content',
    'image_recitation',
    'language',
    'model_armor',
    'guardrail_intervened',
    'error_toxic',
  ],
  error: [
    'error',
    'failed',
    'malformed_function_call',
    'malformed_tool_call',
    'malformed_response',
    'malformed_model_output',
    'malformed_tool_use',
    'function_call_filter',
    'unexpected_tool_call',
    'too_many_tool_calls',
    'missing_thought_signature',
    'network_error',
    'server_error',
    'internal_error',
    'insufficient_system_resource',
    'abort',
    'aborted',
    'cancelled',
    'canceled',
    'interrupted',
    'timeout',
    'user_cancel',
  ],
}
const REASONS: ReadonlyMap<string, GivenReason> = new Map(
  (Object.keys(WORDS) as GivenReason[]).flatMap((reason) => WORDS[reason].map((word) => [word, reason] as const)),
)

/** Words that are written where there is no reason yet. */
export const NO_REASONS: readonly string[] = ['null', 'NULL', 'None', 'none']

/**
 * The reason that a provider of the OpenAI dialect gives, in any case, or as the type of an object; a word that is not known
 * counts as a good end.
 * @returns null where it gives none, as on every chunk but the last: null, an empty or blank text, anything that is no text
 */
export function givenReason(value: unknown): GivenReason | null {
  if (isJsonObject(value)) return givenReason(value['type'] ?? null)
  if (typeof value !== 'string' || NO_REASONS.includes(value)) return null
  // The text behind a colon says more, as in Gemini's `content_filter: PROHIBITED_CONTENT`.
  const word = value.replace(/:.*/s, '').trim().toLowerCase().replaceAll(/[- ]/g, '_')
  return word === '' ? null : (REASONS.get(word) ?? 'stop')
}

/** The reason as clients get it: a message that ended well asks for the outputs of its tool calls, if it has any. */
export function reasonWithCalls(reason: FinishReason, calls: number): FinishReason {
  if (reason !== 'stop' && reason !== 'tool_calls') return reason
  return calls > 0 ? 'tool_calls' : 'stop'
}
