import { GatewayError } from '../../../contract/errors/errors.ts'
import { readJsonBody } from '../../../contract/std/jsonBody.ts'
import type { Span } from '../../../contract/std/span.ts'
import type { Principal } from '../../access/principal.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import type { ChatSurface } from '../../dialects/shared/codec.ts'
import { cutRequest } from '../../dialects/shared/cutRequest.ts'
import type { Exchange } from '../../server/exchange.ts'
import type { LargeBody } from '../largeBodies/largeBodies.ts'
import { ownerOf, type Serve } from '../run/serve.ts'
import type { RunServices } from '../run/services.ts'
import { type Admitted, admit, type Moment } from './admit.ts'
import { BodyRun } from './bodyRun.ts'
import { LargeSource, SmallSource } from './source.ts'
import { StreamRun } from './streamRun.ts'

/** A request that is admitted as a batch job. */
export interface BatchOrder {
  readonly request: ChatFields
  readonly admitted: Admitted
  /** The body that its provider gets. */
  readonly body: Buffer
}

/** Starts a batch job. */
export type StartBatch = (exchange: Exchange, principal: Principal, order: BatchOrder, services: RunServices) => void

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
  const serveLarge = async (
    body: LargeBody,
    exchange: Exchange,
    principal: Principal,
    services: RunServices,
  ): Promise<void> => {
    const request = await body.run('chat', { surface: surface.name, answers: true })
    const model = catalog.model(request.modelId)
    const admitted = admit(request, surface, principal, model, momentOf(exchange, services))
    if (request.batch) {
      const printed = await body.run('printBatch', null)
      const order = { request, admitted, body: Buffer.from(printed.buffer) }
      if (!exchange.gone) startBatch(exchange, principal, order, services)
      return
    }
    const source = await LargeSource.of(body, surface.name, admitted.model, admitted.routes)
    const Kind = request.stream ? StreamRun : BodyRun
    // No hold was taken yet, so a client that has disconnected meanwhile needs no cleanup.
    if (!exchange.gone) new Kind(exchange, principal, { request, admitted, surface, source }, services).start()
  }
  return (exchange, body, principal, services) => {
    const large = services.large.of(body, ownerOf(services))
    if (large !== undefined) return serveLarge(large, exchange, principal, services)
    const { limits } = services
    const longStrings: Span[] = []
    const request = surface.read(readJsonBody(body, limits.jsonDepthMax, longStrings), limits)
    const model = catalog.model(request.modelId)
    const admitted = admit(request, surface, principal, model, momentOf(exchange, services))
    if (request.batch) {
      const printed = Buffer.from(JSON.stringify(request.forward))
      startBatch(exchange, principal, { request, admitted, body: printed }, services)
      return
    }
    const Kind = request.stream ? StreamRun : BodyRun
    // The address of an image is forwarded in the form that was checked, never as its original bytes.
    const { linkedImages = false, rewritten = false } = request.prompt
    const cut = linkedImages || rewritten ? null : cutRequest(body, longStrings, surface, limits)
    const source = new SmallSource(request, cut)
    new Kind(exchange, principal, { request, admitted, surface, source }, services).start()
  }
}

function momentOf({ id, startedAtMs }: Exchange, { health }: RunServices): Moment {
  return { health, nowMs: startedAtMs, requestId: id }
}
