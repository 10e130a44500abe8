// The bounds that the OpenTelemetry semantic conventions for generative AI recommend, version 1.37.0.
// https://github.com/open-telemetry/semantic-conventions/blob/v1.37.0/docs/gen-ai/gen-ai-metrics.md

/** Of gen_ai.client.token.usage, in tokens. */
export const TOKEN_COUNTS = [
  1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
] as const
/** Of gen_ai.client.operation.duration. */
export const OPERATION_SECONDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
] as const
/** Of gen_ai.server.time_to_first_token. */
export const FIRST_TOKEN_SECONDS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
] as const
/** Of gen_ai.server.time_per_output_token. */
export const OUTPUT_TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5] as const

/** The names that the conventions have for operations; the others keep the names of their endpoints. */
const OPERATIONS: Readonly<Record<string, string>> = {
  messages: 'chat',
  responses: 'chat',
  completions: 'text_completion',
}

/** The name of an operation by the conventions. */
export function operationName(operation: string): string {
  return OPERATIONS[operation] ?? operation
}

/** The types of tokens that are counted apart; reasoning is a part of output. */
export const TOKEN_TYPES = [
  { type: 'input', field: 'input' },
  { type: 'cached_input', field: 'cachedInput' },
  { type: 'cache_write_5m', field: 'cacheWrite5m' },
  { type: 'cache_write_1h', field: 'cacheWrite1h' },
  { type: 'output', field: 'output' },
  { type: 'reasoning', field: 'reasoning' },
] as const
