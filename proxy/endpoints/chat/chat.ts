import { isDeepStrictEqual } from 'node:util'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { mendSurrogates } from '../../../contract/std/wellFormed.ts'
import type { Principal } from '../../access/principal.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import { type ChatSurface, codecOf } from '../../dialects/shared/codec.ts'
import { joinedBody } from '../../dialects/shared/joinedBody.ts'
import type { Exchange } from '../../server/exchange.ts'
import type { LargeBody } from '../largeBodies/largeBodies.ts'
import { ownerOf, type Serve } from '../run/serve.ts'
import type { RunServices } from '../run/services.ts'
import type { Admitted, Moment } from './admit.ts'
import { admitAny } from './fallback.ts'
import { newRun } from './newRun.ts'
import { readSmallBody } from './smallBody.ts'
import { type ChatSource, LargeSource, SmallSource } from './source.ts'

/** A request that is admitted as a batch job. */
export interface BatchOrder {
  readonly request: ChatFields
  readonly admitted: Admitted
  /** The body that its provider gets. */
  readonly body: Buffer
  /** The members that are left out of it, at least in part; undefined for none. */
  readonly dropped: readonly string[] | undefined
}

/** Starts a batch job. */
export type StartBatch = (exchange: Exchange, principal: Principal, order: BatchOrder, services: RunServices) => void

/** Refuses a batch job where a whole request asks for one that the endpoint does not start. @throws GatewayError batch_unavailable */
export function refuseAdmittedBatch(): never {
  const message = 'Batch jobs are submitted at /v1/chat/completions; leave batch out here.'
  throw new GatewayError('batch_unavailable', { message })
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
    const owner = ownerOf(services)
    const { limits, large } = services
    const atOnceBytesMax = large.atOnceBytesMax(owner)
    if (body.length <= atOnceBytesMax) mendSurrogates(body)
    const withDataBytesMax = owner === 'customer' ? limits.jsonWithDataBytesMax : 0
    const read = readSmallBody(body, surface, { limits, atOnceBytesMax, withDataBytesMax })
    if (read === undefined) {
      return serveLarge(large.toRead(body, owner, principal.accountId), exchange, principal, services)
    }
    const { request } = read
    const admitted = admitAny(request, surface, principal, catalog, momentOf(exchange, services))
    const source = new SmallSource(read)
    if (request.batch) startBatch(exchange, principal, batchOrder(request, admitted, surface, source), services)
    else newRun(exchange, principal, { request, admitted, surface, source }, services).start()
  }
}

/** A job is kept with one body: it has the routes that want their requests in the form of the first. */
function batchOrder(request: ChatFields, admitted: Admitted, surface: ChatSurface, source: ChatSource): BatchOrder {
  const [first] = admitted.routes
  if (first === undefined) throw new GatewayError('model_unavailable')
  const { dialect, form } = first.provider
  const { rest, cut, dropped } = source.print(first.provider, codecOf(surface, dialect), admitted.model)
  const formed = admitted.routes.filter(({ provider }) => isDeepStrictEqual(provider.form, form))
  // control has the keys: for a job, a route with several is one.
  const routes = formed.filter(({ id }, index) => formed.findIndex((route) => route.id === id) === index)
  const pieces = joinedBody(['{', rest], cut)
  const body = typeof pieces === 'string' ? Buffer.from(pieces) : Buffer.concat(pieces)
  return { request, admitted: { ...admitted, routes }, body, dropped }
}

function momentOf({ id, startedAtMs, head }: Exchange, { health }: RunServices): Moment {
  return { health, nowMs: startedAtMs, requestId: id, session: head.session ?? '' }
}
