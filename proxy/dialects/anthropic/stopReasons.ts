import { givenReason, reasonWithCalls } from '../../../contract/api/finishReason.ts'
import type { FinishReason } from '../shared/message.ts'

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}
/** Reasons of the format that clients get as they came; others are mapped. */
const KNOWN: ReadonlySet<unknown> = new Set([
  ...Object.values(STOP_REASONS),
  'stop_sequence',
  'pause_turn',
  'model_context_window_exceeded',
])

/** The name of a finish reason in the Messages format. */
export function stopReasonOf(finish: FinishReason): string {
  return STOP_REASONS[finish]
}

/**
 * The reason that a provider of the Anthropic dialect gives, in the words of the format: a message that ended well asks for the
 * outputs of its calls, if it has any.
 * @returns null where it gives none, as an empty text; 'error' for a failure
 */
export function statedStop(value: unknown, calls: number): string | null {
  const given = givenReason(value)
  if (given === null || given === 'error') return given
  const stated = KNOWN.has(value) ? String(value) : stopReasonOf(given)
  if (stated !== STOP_REASONS.stop && stated !== STOP_REASONS.tool_calls) return stated
  return stopReasonOf(reasonWithCalls(given, calls))
}

/** The reason of a message whose provider gives none, although it has ended. */
export function unstatedStop(calls: number): string {
  return stopReasonOf(reasonWithCalls('stop', calls))
}

/** The same by the names of chat completions; a message without a reason has ended well. */
export function finishOfStop(stopReason: unknown): FinishReason {
  const given = givenReason(stopReason)
  return given === null || given === 'error' ? 'stop' : given
}
