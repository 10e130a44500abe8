import { membersOf, type RequestPart } from '../../../contract/providers/requestPart.ts'
import type { Provider } from '../../catalog/pricedItem.ts'
import type { DialectLimits } from '../../dialects/limits.ts'
import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import { droppedNames } from '../../dialects/shared/requestForm.ts'
import type { HeaderList } from '../../server/exchange.ts'
import { namesHeader } from '../run/namesHeader.ts'
import type { Run } from '../run/run.ts'
import type { ChatOrder } from './order.ts'

/**
 * The header that names the members of a request that its provider did not get; none where it got all.
 * @param written those that the writer of the request left out; undefined for none
 */
export function droppedHeader(
  { asked: route, services }: Pick<Run, 'asked' | 'services'>,
  { request }: ChatOrder,
  leavesOut: readonly RequestPart[],
  written: readonly string[] | undefined,
): HeaderList {
  return route === null ? [] : droppedBy(request, route.provider, services.limits, leavesOut, written)
}

/**
 * The same for the provider that a request was written for.
 * @param leavesOut the parts of the request that it has refused
 */
export function droppedBy(
  request: ChatFields,
  provider: Provider,
  limits: DialectLimits,
  leavesOut: readonly RequestPart[],
  written: readonly string[] | undefined,
): HeaderList {
  const dropped = droppedNames(request, provider, limits.droppedNamesMax)
  const names =
    leavesOut.length === 0
      ? dropped
      : [...dropped, ...membersOf(leavesOut).filter((name) => request.named?.includes(name)), ...forced(leavesOut)]
  return namesHeader(written === undefined ? names : [...names, ...written])
}

/** Tools are no members that a provider may lack, so that requests do not name their choice. */
function forced(leavesOut: readonly RequestPart[]): readonly string[] {
  return leavesOut.includes('forcedCalls') ? ['tool_choice'] : []
}
