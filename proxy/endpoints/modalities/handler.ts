import { DIALECTS_OF } from '../../../contract/catalog/dialects.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import type { Principal } from '../../access/principal.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import { checkMaxPrice, refuseMaxPrice } from '../../dialects/shared/preferences.ts'
import { refuseBatch } from '../../json/fields.ts'
import type { Exchange, Precheck, RequestHead } from '../../server/exchange.ts'
import { isMultipart } from '../../upload/multipart.ts'
import { chooseRoutes } from '../../upstream/chooseRoutes.ts'
import type { UnitEndpoint } from '../largeBodies/largeTasks.ts'
import { unitAffinity } from '../run/affinity.ts'
import { checkModel, routePolicy, tierRates } from '../run/checkModel.ts'
import type { Metered } from '../run/metered.ts'
import { ownerOf, type Serve } from '../run/serve.ts'
import type { RunServices } from '../run/services.ts'
import { EventRun } from './eventRun.ts'
import type { Operation, UnitPlan, UnitRequest } from './operation.ts'

/** Serves one operation. */
export function unitServe<Request extends UnitRequest, Plan extends UnitPlan>(
  operation: Operation<Request, Plan>,
  catalog: CatalogStore,
): Serve {
  const { endpoint, streamed } = operation
  const begin = (
    request: Request,
    exchange: Exchange,
    principal: Principal,
    services: RunServices,
  ): void | Promise<void> => {
    const { limits } = services
    const model = checkModel(request.modelId, catalog.model(request.modelId), endpoint, principal)
    checkWishes(request, model, principal)
    const events = operation.events?.asks(request) === true ? operation.events : undefined
    const affinity = unitAffinity(model, principal, exchange)
    const policy = { events, affinity, ...routePolicy(request, principal, DIALECTS_OF[endpoint]) }
    const routes = chooseRoutes(model, policy, services.health, exchange.startedAtMs)
    const meteredOf = ({ holdUnits, tokensMax = 0 }: UnitPlan, isStreamed: boolean): Metered => {
      const { tagging } = request
      const [wantUnits, leastUnits] = [holdUnits, holdUnits]
      return { endpoint, model, routes, wantUnits, leastUnits, tokensMax, streamed: isStreamed, tagging }
    }
    const start = (plan: Plan): void => {
      // No hold was taken yet, so a client that has disconnected meanwhile needs no cleanup.
      if (exchange.gone) return
      new operation.Run(exchange, principal, meteredOf(plan, streamed), plan, services).start()
    }
    const context = { requestId: exchange.id, model, principal, limits }
    if (events !== undefined) {
      const plan = events.plan(request, context)
      new EventRun(exchange, principal, meteredOf(plan, true), plan, services).start()
      return
    }
    const plan = operation.plan(request, context)
    if (plan instanceof Promise) return plan.then(start)
    start(plan)
  }
  return (exchange, body, principal, services) => {
    // Files are not JSON: they are split without parsing.
    const large = operation.upload ? undefined : services.large.of(body, ownerOf(services), principal.accountId)
    if (large === undefined)
      return begin(operation.read(body, exchange.head, services.limits), exchange, principal, services)
    return large
      .run('unit', { endpoint: operation.endpoint as UnitEndpoint })
      .then((request) => begin(request as Request, exchange, principal, services))
  }
}

/** Rejects bodies that are not multipart on upload endpoints without a key. */
export function uploadPrecheck(upload: boolean): Precheck | undefined {
  return upload ? (head) => notMultipart(head) ?? 'stranger' : undefined
}

/** Rejects bodies that are not multipart on upload endpoints with a key. */
export function unitPrecheck(upload: boolean, keyed: Precheck): Precheck {
  if (!upload) return keyed
  return (head) => {
    const sender = keyed(head)
    return sender === 'customer' ? (notMultipart(head) ?? sender) : sender
  }
}

function notMultipart(head: RequestHead): GatewayError | undefined {
  return isMultipart(head.contentType) ? undefined : new GatewayError('not_multipart')
}

function checkWishes(request: UnitRequest, model: Model, principal: Principal): void {
  if (request.batchParam !== null && principal.privateTier) throw new GatewayError('private_batch_unavailable')
  refuseBatch(request)
  if (model.unit !== '') refuseMaxPrice(request.preferences)
  else checkMaxPrice(request.preferences, tierRates(model, principal, model.rates, model.ratesPrivate), model.id)
}
