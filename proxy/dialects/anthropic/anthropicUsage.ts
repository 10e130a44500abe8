import type { TokenUsage } from '../../../contract/money/charge.ts'

/** The usage as a client of the Messages format reads it, as JSON text. */
export function anthropicUsageJson(usage: TokenUsage): string {
  const { input, cachedInput, cacheWrite5m, cacheWrite1h, output, reasoning } = usage
  return (
    `{"input_tokens":${input},"cache_creation_input_tokens":${cacheWrite5m + cacheWrite1h}` +
    `,"cache_read_input_tokens":${cachedInput},"cache_creation":{"ephemeral_5m_input_tokens":${cacheWrite5m}` +
    `,"ephemeral_1h_input_tokens":${cacheWrite1h}},"output_tokens":${output}` +
    `,"output_tokens_details":{"thinking_tokens":${reasoning}}}`
  )
}
