import { promptTokens, type TokenUsage } from '../../../contract/money/charge.ts'
import type { Admitted } from './admit.ts'

/** Of the end of an answer and the like. */
const OUTPUT_SLACK_TOKENS = 64

/**
 * Whether a usage is more than the request and its answer can have had: more prompt than was held for, or more output than
 * the answer has bytes. What a model thinks is not in its answer, so the output of models that think is bounded by the hold
 * alone.
 */
export function isBeyondCount(
  { model, size }: Pick<Admitted, 'model' | 'size'>,
  usage: TokenUsage,
  outputBytes: number,
): boolean {
  if (promptTokens(usage) > size.promptTokens) return true
  return model.thinking === 'none' && usage.output - usage.reasoning > outputBytes + OUTPUT_SLACK_TOKENS
}
