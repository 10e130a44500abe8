import { promptTokens, type TokenUsage } from '../../../contract/money/charge.ts'

/** How far a provider's tokenizer may count above the gateway's, in thousandths, and its end marks and templates. */
const FACTOR_PERMILLE = 1_500
const SLACK_TOKENS = 16

/** Tokens of a request and of all that was delivered for it, by the gateway's own count. */
export interface CountedTokens {
  readonly prompt: number
  readonly output: number
  /** The output that was asked for; no tokenizer counts more, reasoning included. */
  readonly outputMax: number
}

/** Whether a registered provider's report exceeds what the gateway counted, so that it counts as missing. */
export function isBeyondCount(usage: TokenUsage, counted: CountedTokens): boolean {
  return isBeyond(promptTokens(usage), usage.output, counted)
}

/**
 * Whether such a report speaks against the provider. Reasoning that it does not deliver is not charged, but a model that thinks
 * may have hidden it honestly.
 */
export function isOverReport(usage: TokenUsage, counted: CountedTokens, mayHideReasoning: boolean): boolean {
  const output = mayHideReasoning ? usage.output - usage.reasoning : usage.output
  return isBeyond(promptTokens(usage), output, counted)
}

/** A report without cache writes: they may cost more than input, and nothing shows whether there were any. */
export function withoutCacheWrites(usage: TokenUsage): TokenUsage {
  const { input, cacheWrite5m, cacheWrite1h } = usage
  return { ...usage, input: input + cacheWrite5m + cacheWrite1h, cacheWrite5m: 0, cacheWrite1h: 0 }
}

function isBeyond(prompt: number, output: number, counted: CountedTokens): boolean {
  return prompt > mostFor(counted.prompt) || output > Math.min(mostFor(counted.output), counted.outputMax)
}

function mostFor(tokens: number): number {
  return Math.ceil((tokens * FACTOR_PERMILLE) / 1000) + SLACK_TOKENS
}
