import { randomInt } from 'node:crypto'
import { newPrompt, type ProbePrompt } from './probePrompts.ts'

/** Limits of output that clients name; most name none, and get that of the model. */
const LIMITS = [256, 300, 400, 500, 512, 800, 1_000, 1_024, 1_500, 2_000, 2_048, 4_096]
const LIMIT_NAMES = ['max_tokens', 'max_tokens', 'max_completion_tokens'] as const
const TEMPERATURES = [0, 0, 0.1, 0.2, 0.3, 0.5, 0.7]

/** The output limit of requests that name none, and the largest one, in tokens. */
export interface OutputLimits {
  readonly defaultOutput: number
  readonly maxOutput: number
}

/** The request to both a route and a registered provider, made as a customer's request may be. */
export interface Comparison {
  readonly prompt: ProbePrompt
  readonly stream: boolean
  readonly maxTokens: number
  /** For providers that know both names. */
  readonly limitName: (typeof LIMIT_NAMES)[number]
  /** Absent: as the provider has it. */
  readonly temperature: number | undefined
}

/**
 * Draws a comparison from the system's source of randomness, so that nobody can know it before, and none comes twice.
 */
export function newComparison({ maxOutput, defaultOutput }: OutputLimits): Comparison {
  const limits = LIMITS.filter((limit) => limit <= maxOutput)
  return {
    prompt: newPrompt(randomInt),
    stream: randomInt(5) < 3,
    maxTokens: randomInt(2) === 0 ? defaultOutput : (limits[randomInt(Math.max(1, limits.length))] ?? maxOutput),
    limitName: LIMIT_NAMES[randomInt(LIMIT_NAMES.length)] ?? 'max_tokens',
    temperature: randomInt(2) === 0 ? undefined : TEMPERATURES[randomInt(TEMPERATURES.length)],
  }
}
