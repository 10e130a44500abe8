import type { Dialect } from '../../../control/contract/catalog.ts'
import { GatewayError } from '../../../control/contract/errors.ts'
import { readApiKey } from '../../access/credential.ts'
import type { KeyCache } from '../../access/keyCache.ts'
import type { Principal } from '../../access/principal.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import type { Exchange, Handler, Precheck } from '../../server/exchange.ts'
import { isMultipart } from '../../upload/multipart.ts'
import { chooseRoutes } from '../../upstream/chooseRoutes.ts'
import { checkKey, credentialPrecheck } from '../chat/chat.ts'
import { checkModel, routePolicy, tierRates } from '../run/checkModel.ts'
import { checkMaxPrice, refuseMaxPrice } from '../run/preferences.ts'
import type { RunServices } from '../run/services.ts'
import type { Operation, UnitPlan, UnitRequest } from './operation.ts'

/** The other dialects have no such operations. */
const DIALECTS: ReadonlySet<Dialect> = new Set(['openai'])

/** Serves one operation. */
export function unitHandler<Request extends UnitRequest, Plan extends UnitPlan>(
  operation: Operation<Request, Plan>,
  keys: KeyCache,
  catalog: CatalogStore,
  services: RunServices,
): Handler {
  const { endpoint, streamed } = operation
  const { limits } = services
  const run = (exchange: Exchange, body: Buffer, principal: Principal): void | Promise<void> => {
    checkKey(principal, exchange.startedAtMs)
    const request = operation.read(body, exchange.head, limits)
    const model = checkModel(request.modelId, catalog.model(request.modelId), endpoint, principal)
    checkWishes(request, model, principal)
    const policy = { ...routePolicy(request, principal), dialects: DIALECTS }
    const routes = chooseRoutes(model, policy, services.health, exchange.startedAtMs)
    const begin = (plan: Plan): void => {
      // Nothing was held yet, so a client that has left meanwhile leaves nothing behind.
      if (exchange.gone) return
      const { holdUnits } = plan
      const metered = { endpoint, model, routes, wantUnits: holdUnits, leastUnits: holdUnits, streamed }
      new operation.Run(exchange, principal, metered, plan, services).start()
    }
    const plan = operation.plan(request, { requestId: exchange.id, model, principal, limits })
    if (plan instanceof Promise) return plan.then(begin)
    begin(plan)
  }
  return (exchange, body) => {
    services.metrics.counters.requests++
    const found = keys.find(readApiKey(exchange.head), exchange.startedAtMs)
    if (found instanceof Promise) return found.then((principal) => run(exchange, body, principal))
    return run(exchange, body, found)
  }
}

/** Refuses what its head alone tells: no credential, or an upload that is none. */
export function unitPrecheck(upload: boolean): Precheck {
  if (!upload) return credentialPrecheck
  return (head) => {
    const fault = credentialPrecheck(head)
    if (fault !== undefined) return fault
    return isMultipart(head.contentType) ? undefined : new GatewayError('not_multipart')
  }
}

function checkWishes(request: UnitRequest, model: Model, principal: Principal): void {
  if (request.batch) {
    if (principal.privateTier) throw new GatewayError('private_batch_unavailable')
    throw new GatewayError('batch_unavailable', {
      message: 'Only chat completions run as batch jobs; leave :batch out.',
    })
  }
  if (model.unit !== '') refuseMaxPrice(request.preferences)
  else checkMaxPrice(request.preferences, tierRates(model, principal, model.rates, model.ratesPrivate), model.id)
}
