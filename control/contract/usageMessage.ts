import type { TokenUsage } from './charge.ts'
import type { sluice } from './generated/messages.js'

/**
 * What a settlement says of what was used.
 * @param quantity of what is not priced by the token; 0 for none
 * @param unit what that is called, or ''
 */
export function usageMessage(usage: TokenUsage, quantity: number, unit: string): sluice.Usage.$Properties {
  return {
    input: usage.input,
    cachedInput: usage.cachedInput,
    cacheWrite_5m: usage.cacheWrite5m,
    cacheWrite_1h: usage.cacheWrite1h,
    output: usage.output,
    reasoning: usage.reasoning,
    quantity,
    unit,
  }
}
