import { droppedNames } from '../../dialects/shared/requestForm.ts'
import type { HeaderList } from '../../server/exchange.ts'
import type { Run } from '../run/run.ts'
import type { ChatOrder } from './order.ts'

const NONE: HeaderList = []

/** The header that names the members of a request that its provider did not get; none where it got all. */
export function droppedHeader({ asked: route }: Run, { request }: ChatOrder): HeaderList {
  if (route === null) return NONE
  const names = droppedNames(request, route.provider)
  return names.length === 0 ? NONE : ['x-dropped-parameters', names.join(', ')]
}
