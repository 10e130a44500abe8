import type { TokenUsage } from './charge.ts'
import type { ReportedUsage } from './usageReports.ts'

const BYTES_PER_TOKEN = 4
const PACKED_FRAME_BYTES = 8

/** The delivered part of an answer whose provider reported no usage. */
export interface Delivered {
  readonly promptBytes: number
  readonly promptExtraTokens: number
  /** Frames that carried output; 1 for an answer that was not streamed. */
  readonly frames: number
  readonly outputBytes: number
  /** The most output that the request allowed. */
  readonly outputTokensMax: number
}

/**
 * Estimates the usage from the output that was delivered. Providers stream one token a frame; where frames are clearly
 * larger, four bytes count as a token, as they do in the prompt.
 */
export function estimateUsage(delivered: Delivered): TokenUsage {
  const { frames, outputBytes } = delivered
  const packed = outputBytes > frames * PACKED_FRAME_BYTES
  return {
    input: Math.ceil(delivered.promptBytes / BYTES_PER_TOKEN) + delivered.promptExtraTokens,
    cachedInput: 0,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    output: Math.min(delivered.outputTokensMax, packed ? Math.ceil(outputBytes / BYTES_PER_TOKEN) : frames),
    reasoning: 0,
  }
}

/**
 * A report whose missing counts are from an estimate; the estimate itself where there is no report.
 * @param outputFollowed the report came before the last output, so that its output is the least that it can be
 */
export function mendedUsage(usage: ReportedUsage | null, estimate: TokenUsage, outputFollowed: boolean): TokenUsage {
  if (usage === null) return estimate
  const { missing, contradicts: _contradicts, ...reported } = usage
  if (missing === 'prompt')
    Object.assign(reported, { input: estimate.input, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0 })
  const isGuessed = missing === 'output' || outputFollowed
  return isGuessed ? { ...reported, output: Math.max(reported.output, estimate.output) } : reported
}
