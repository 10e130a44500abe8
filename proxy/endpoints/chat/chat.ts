import type { CatalogStore } from '../../catalog/catalogStore.ts'
import { parseJsonObject } from '../parseJson.ts'
import type { Serve } from '../run/serve.ts'
import { admit } from './admit.ts'
import { BodyRun } from './bodyRun.ts'
import type { ChatSurface } from './codec.ts'
import { StreamRun } from './streamRun.ts'

/** Serves one endpoint of the chat models. */
export function chatServe(surface: ChatSurface, catalog: CatalogStore): Serve {
  return (exchange, body, principal, services) => {
    const request = surface.read(parseJsonObject(body, services.limits.jsonDepthMax), services.limits)
    const model = catalog.model(request.modelId)
    const admitted = admit(request, surface, principal, model, services.health, exchange.startedAtMs)
    const Kind = request.stream ? StreamRun : BodyRun
    new Kind(exchange, principal, request, admitted, surface, services).start()
  }
}
