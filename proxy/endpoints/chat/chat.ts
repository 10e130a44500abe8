import { isDeepStrictEqual } from 'node:util'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { readJsonBody } from '../../../contract/std/jsonBody.ts'
import type { Span } from '../../../contract/std/span.ts'
import type { Principal } from '../../access/principal.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import { type ChatSurface, codecOf } from '../../dialects/shared/codec.ts'
import { cutRequest } from '../../dialects/shared/cutRequest.ts'
import type { Exchange } from '../../server/exchange.ts'
import type { LargeBody } from '../largeBodies/largeBodies.ts'
import { ownerOf, type Serve } from '../run/serve.ts'
import type { RunServices } from '../run/services.ts'
import type { Admitted, Moment } from './admit.ts'
import { admitAny } from './fallback.ts'
import { newRun } from './newRun.ts'
import { type ChatSource, LargeSource, SmallSource } from './source.ts'

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
    const admitted = admitAny(request, surface, principal, catalog, momentOf(exchange, services))
    const routes = request.batch ? admitted.routes.slice(0, 1) : admitted.routes
    const source = new LargeSource(body, surface.name)
    await source.prepare({ model: admitted.model, routes })
    if (request.batch) {
      const order = batchOrder(request, admitted, surface, source)
      if (!exchange.gone) startBatch(exchange, principal, order, services)
      return
    }
    // No hold was taken yet, so a client that has disconnected meanwhile needs no cleanup.
    if (!exchange.gone) newRun(exchange, principal, { request, admitted, surface, source }, services).start()
  }
  return (exchange, body, principal, services) => {
    const large = services.large.of(body, ownerOf(services))
    if (large !== undefined) return serveLarge(large, exchange, principal, services)
    const { limits } = services
    const longStrings: Span[] = []
    const request = surface.read(readJsonBody(body, limits.jsonDepthMax, longStrings), limits)
    const admitted = admitAny(request, surface, principal, catalog, momentOf(exchange, services))
    if (request.batch) {
      const order = batchOrder(request, admitted, surface, new SmallSource(request, null))
      startBatch(exchange, principal, order, services)
      return
    }
    // The address of an image is forwarded in the form that was checked, never as its original bytes.
    const { linkedImages = false, rewritten = false } = request.prompt
    const cut = linkedImages || rewritten ? null : cutRequest(body, longStrings, surface, limits)
    const source = new SmallSource(request, cut)
    newRun(exchange, principal, { request, admitted, surface, source }, services).start()
  }
}

/** A job is kept with one body: it has the routes that want their requests in the form of the first. */
function batchOrder(request: ChatFields, admitted: Admitted, surface: ChatSurface, source: ChatSource): BatchOrder {
  const [first] = admitted.routes
  if (first === undefined) throw new GatewayError('model_unavailable')
  const { dialect, form } = first.provider
  const { rest } = source.print(first.provider, codecOf(surface, dialect), admitted.model)
  const formed = admitted.routes.filter(({ provider }) => isDeepStrictEqual(provider.form, form))
  // control has the keys: for a job, a route with several is one.
  const routes = formed.filter(({ id }, index) => formed.findIndex((route) => route.id === id) === index)
  const body = Buffer.concat([Buffer.from('{'), typeof rest === 'string' ? Buffer.from(rest) : rest])
  return { request, admitted: { ...admitted, routes }, body }
}

function momentOf({ id, startedAtMs, head }: Exchange, { health }: RunServices): Moment {
  return { health, nowMs: startedAtMs, requestId: id, session: head.session ?? '' }
}
