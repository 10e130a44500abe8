import { GatewayError } from '../../../contract/errors/errors.ts'
import type { Span } from '../../../contract/std/span.ts'
import type { Principal } from '../../access/principal.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import type { ChatRequest } from '../../dialects/shared/chatRequest.ts'
import type { ChatSurface } from '../../dialects/shared/codec.ts'
import { cutRequest } from '../../dialects/shared/cutRequest.ts'
import { parseJsonObject } from '../../json/parseJson.ts'
import type { Exchange } from '../../server/exchange.ts'
import type { Serve } from '../run/serve.ts'
import type { RunServices } from '../run/services.ts'
import { type Admitted, admit } from './admit.ts'
import { BodyRun } from './bodyRun.ts'
import { StreamRun } from './streamRun.ts'

/** Starts a request that is admitted as a batch job. */
export type StartBatch = (
  exchange: Exchange,
  principal: Principal,
  request: ChatRequest,
  admitted: Admitted,
  services: RunServices,
) => void

/** Refuses a batch job where a whole request asks for one that the endpoint does not start. @throws GatewayError batch_unavailable */
export function refuseAdmittedBatch(): never {
  throw new GatewayError('batch_unavailable', { message: 'Batch jobs are submitted at /v1/chat/completions.' })
}

/**
 * Serves one endpoint of the chat models.
 * @param startBatch where requests can ask for a batch
 */
export function chatServe(
  surface: ChatSurface,
  catalog: CatalogStore,
  startBatch: StartBatch = refuseAdmittedBatch,
): Serve {
  return (exchange, body, principal, services) => {
    const { limits } = services
    const longStrings: Span[] = []
    const request = surface.read(parseJsonObject(body, limits.jsonDepthMax, longStrings), limits)
    const model = catalog.model(request.modelId)
    const admitted = admit(request, surface, principal, model, services.health, exchange.startedAtMs)
    if (request.batch) {
      startBatch(exchange, principal, request, admitted, services)
      return
    }
    const Kind = request.stream ? StreamRun : BodyRun
    // The address of an image is forwarded as it was checked, never as the bytes that it came in.
    const cut = request.prompt.linkedImages ? null : cutRequest(body, longStrings, surface, limits)
    new Kind(exchange, principal, request, admitted, surface, services, cut).start()
  }
}
