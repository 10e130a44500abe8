import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import type { ChatSurface } from '../../dialects/shared/codec.ts'
import type { Metered } from '../run/metered.ts'
import { type Admitted, tokensMaxOf, wantUnitsOf } from './admit.ts'
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
  const wantUnits = wantUnitsOf(admitted)
  const tokensMax = tokensMaxOf(admitted)
  // The hold may shrink to what the model itself takes; another one is asked only if the hold pays for that one.
  const { leastUnits } = size
  const { stream: streamed, tagging } = request
  return { endpoint: surface.endpoint, model, routes, wantUnits, leastUnits, tokensMax, streamed, lock, tagging }
}
