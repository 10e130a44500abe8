import { GatewayError } from '../../../control/contract/errors.ts'
import { readApiKey } from '../../access/credential.ts'
import type { KeyCache } from '../../access/keyCache.ts'
import type { Principal } from '../../access/principal.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import type { Exchange, Handler, RequestHead } from '../../server/exchange.ts'
import { parseJsonObject } from '../parseJson.ts'
import type { RunServices } from '../run/services.ts'
import { admit } from './admit.ts'
import { BodyRun } from './bodyRun.ts'
import type { ChatSurface } from './codec.ts'
import { StreamRun } from './streamRun.ts'

/** Serves one endpoint of the chat models. */
export function chatHandler(
  surface: ChatSurface,
  keys: KeyCache,
  catalog: CatalogStore,
  services: RunServices,
): Handler {
  const run = (exchange: Exchange, body: Buffer, principal: Principal): void => {
    checkKey(principal, exchange.startedAtMs)
    const request = surface.read(parseJsonObject(body, services.limits.jsonDepthMax), services.limits)
    const model = catalog.model(request.modelId)
    const admitted = admit(request, surface, principal, model, services.health, exchange.startedAtMs)
    const Kind = request.stream ? StreamRun : BodyRun
    new Kind(exchange, principal, request, admitted, surface, services).start()
  }
  return (exchange, body) => {
    services.metrics.counters.requests++
    const found = keys.find(readApiKey(exchange.head), exchange.startedAtMs)
    if (found instanceof Promise) return found.then((principal) => run(exchange, body, principal))
    run(exchange, body, found)
  }
}

/** Refuses a request without a credential of the right form, before its body is taken. */
export function credentialPrecheck(head: RequestHead): GatewayError | undefined {
  try {
    readApiKey(head)
    return undefined
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/** @throws GatewayError key_paused, or invalid_api_key for a key past its time */
export function checkKey(principal: Principal, nowMs: number): void {
  if (principal.paused) throw new GatewayError('key_paused')
  if (principal.expiresAtMs !== 0 && principal.expiresAtMs <= nowMs) {
    throw new GatewayError('invalid_api_key', { message: 'This API key has expired; create a new one.' })
  }
}
