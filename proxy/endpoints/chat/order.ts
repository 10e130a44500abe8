import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import type { ChatSurface } from '../../dialects/shared/codec.ts'
import type { Metered } from '../run/metered.ts'
import type { Admitted } from './admit.ts'
import type { ChatSource } from './source.ts'

/** A chat request that may run, whatever format its client and its provider speak. */
export interface ChatOrder {
  readonly request: ChatFields
  readonly admitted: Admitted
  readonly surface: ChatSurface
  readonly source: ChatSource
}

/** What is held for a chat request, and who may serve it. */
export function meteredOf({ request, admitted, surface }: ChatOrder): Metered {
  const { model, routes, size, lock } = admitted
  const { wantUnits, leastUnits } = size
  return { endpoint: surface.endpoint, model, routes, wantUnits, leastUnits, streamed: request.stream, lock }
}
