import { promptTokens, type TokenUsage } from '../../../contract/money/charge.ts'
import type { Admitted } from './admit.ts'

/** Of the end of an answer and the like. */
const OUTPUT_SLACK_TOKENS = 64

/**
 * Whether a usage exceeds the maximum for the request and its answer: more prompt than was held for, or more output than the
 * answer has bytes. Thinking is not in the answer, so the output of models that think is bounded by the hold alone.
 */
export function isBeyondCount(
  { model, size }: Pick<Admitted, 'model' | 'size'>,
  usage: TokenUsage,
  outputBytes: number,
): boolean {
  if (promptTokens(usage) > size.promptTokens) return true
  return model.thinking === 'none' && usage.output - usage.reasoning > outputBytes + OUTPUT_SLACK_TOKENS
}
