import type { RequestPart } from '../../../contract/providers/requestPart.ts'

/** Above the efforts that every model with an effort has. */
const TOP_EFFORTS: ReadonlySet<unknown> = new Set(['xhigh', 'max'])

/** The highest effort up to this one that a model has not refused. */
export function fittingEffort<Effort>(effort: Effort, leavesOut: readonly RequestPart[] = []): Effort | string {
  if (!TOP_EFFORTS.has(effort)) return effort
  if (leavesOut.includes('topEffort')) return 'high'
  return leavesOut.includes('maxEffort') ? 'xhigh' : effort
}
