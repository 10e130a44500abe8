import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import type { ChatSurface } from '../../dialects/shared/codec.ts'
import type { Metered } from '../run/metered.ts'
import type { Admitted } from './admit.ts'
import type { ChatSource } from './source.ts'

/** An admitted chat request, independent of the formats of its client and its provider. */
export interface ChatOrder {
  readonly request: ChatFields
  readonly admitted: Admitted
  readonly surface: ChatSurface
  readonly source: ChatSource
}

/** The hold of a chat request, and the routes that may serve it. */
export function meteredOf({ request, admitted, surface }: ChatOrder): Metered {
  const { model, routes, size, lock } = admitted
  const { wantUnits, leastUnits } = size
  return { endpoint: surface.endpoint, model, routes, wantUnits, leastUnits, streamed: request.stream, lock }
}
