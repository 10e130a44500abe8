import type { TracesSampler } from '../../contract/schemas/environment.ts'

/** All but the one that takes no trace at all. */
export type SamplerName = Exclude<TracesSampler, 'always_off'>

/**
 * Decides at its start whether a trace is exported.
 * @param parentSampled the decision of the client; undefined for a trace that begins here
 */
export type Sampler = (traceId: string, parentSampled: boolean | undefined) => boolean

/** Hex digits at the end of an id that are random by the specification, and that a double holds. */
const RANDOM_DIGITS = 13
const RANDOM_RANGE = 16 ** RANDOM_DIGITS

/** @param ratio of the traces that are exported, from 0 to 1, where the name speaks of one */
export function samplerOf(name: SamplerName, ratio: number): Sampler {
  const share = name.endsWith('always_on') ? 1 : name.endsWith('always_off') ? 0 : ratio
  // A program with a greater ratio takes all traces that one with a smaller ratio takes.
  const least = (1 - share) * RANDOM_RANGE
  const ofRatio = (traceId: string): boolean => share > 0 && Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) >= least
  if (!name.startsWith('parentbased')) return ofRatio
  return (traceId, parentSampled) => parentSampled ?? ofRatio(traceId)
}
