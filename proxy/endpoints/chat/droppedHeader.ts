import type { Provider } from '../../catalog/pricedItem.ts'
import type { DialectLimits } from '../../dialects/limits.ts'
import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import { droppedNames } from '../../dialects/shared/requestForm.ts'
import type { HeaderList } from '../../server/exchange.ts'
import type { Run } from '../run/run.ts'
import type { ChatOrder } from './order.ts'

const NONE: HeaderList = []

/** The header that names the members of a request that its provider did not get; none where it got all. */
export function droppedHeader(
  { asked: route, services }: Pick<Run, 'asked' | 'services'>,
  { request }: ChatOrder,
): HeaderList {
  return route === null ? NONE : droppedBy(request, route.provider, services.limits)
}

/** The same for the provider that a request was written for. */
export function droppedBy(request: ChatFields, provider: Provider, limits: DialectLimits): HeaderList {
  const names = droppedNames(request, provider, limits.droppedNamesMax)
  return names.length === 0 ? NONE : ['x-dropped-parameters', names.join(', ')]
}
