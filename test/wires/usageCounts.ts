import type { Receipt } from '../support/clients/chatClient.ts'

/** Prompt, cached, written for five minutes, written for an hour, output and reasoning, in tokens. */
export type Counts<Count = number | null> = readonly [Count, Count, Count, Count, Count, Count]

/** USD per million tokens, as a catalog has it. */
export const PRICE = { input: '1', cached_input: '0.1', cache_write_5m: '1.25', cache_write_1h: '2', output: '5' }

/** The counts of a receipt. */
export function countsOf({ usage }: Receipt): Counts<number> {
  const { cache_write_tokens: written = 0, cache_write_1h_tokens: hour = 0 } = usage
  return [
    usage.prompt_tokens,
    usage.cached_tokens,
    written - hour,
    hour,
    usage.completion_tokens,
    usage.reasoning_tokens,
  ]
}

/** What such a usage costs at PRICE, in units. */
export function dueUnits([prompt, cached, minutes, hour, output]: Counts<number>): number {
  return (prompt - cached - minutes - hour) * 1_000 + cached * 100 + minutes * 1_250 + hour * 2_000 + output * 5_000
}
