import type { RequestPart } from '../../../contract/providers/requestPart.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { ChatLimits } from './limits.ts'
import { WHOLE } from './source.ts'

/** Parts that a model takes of no request or of every one, and that another form replaces, or that no answer needs. */
const OF_MODELS: ReadonlySet<RequestPart> = new Set([
  'unreasonedCalls',
  'laterInstructions',
  'shownThoughts',
  'thinkingOff',
  'toolThoughts',
  'maxEffort',
  'topEffort',
  'toolMembers',
  'hints',
])

interface Refused {
  readonly parts: readonly RequestPart[]
  /** In milliseconds since 1970. */
  readonly untilMs: number
}

/** A catalog that is published anew begins without them. */
const REFUSED = new WeakMap<Model, Refused>()

/** The parts that providers of a model have refused of earlier requests, without which the next one is written. */
export function refusedBefore(model: Model, nowMs: number): readonly RequestPart[] {
  const refused = REFUSED.get(model)
  return refused === undefined || refused.untilMs <= nowMs ? WHOLE : refused.parts
}

/** Notes that a provider of a model has refused a part, so that requests of the next minutes need no second attempt. */
export function noteRefused(model: Model, part: RequestPart, nowMs: number, limits: ChatLimits): void {
  if (!OF_MODELS.has(part)) return
  const parts = new Set([...refusedBefore(model, nowMs), part])
  REFUSED.set(model, { parts: [...parts], untilMs: nowMs + limits.refusedPartKeptMs })
}
