/** Usage as the OpenAI dialect reports it. */
export interface ReportedUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  /** Writes of an hour's lifetime are part of cache_write_tokens; only the Anthropic dialect distinguishes them. */
  prompt_tokens_details?: { cached_tokens?: number; cache_write_tokens?: number; cache_write_1h_tokens?: number }
  completion_tokens_details?: { reasoning_tokens: number }
}
