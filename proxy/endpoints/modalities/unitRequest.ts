import type { Route } from '../../catalog/pricedItem.ts'
import { openaiHeaders } from '../../dialects/openai/openaiHeaders.ts'
import { postRequest } from '../../upstream/providerRequest.ts'
import type { UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { Run } from '../run/run.ts'
import type { UnitPlan } from './operation.ts'

/** The provider request of a plan; all providers of these operations speak the OpenAI format. */
export function unitRequest(
  run: Run,
  plan: UnitPlan,
  route: Route,
  totalTimeoutMs: number,
  fresh: boolean,
): UpstreamRequest {
  const { provider } = route
  const { path, contentType, accept, body } = plan.ask(route)
  const headers = openaiHeaders(provider, contentType, accept)
  const asked = { path, headers, requestId: run.hold.requestId, body }
  return postRequest(provider, asked, run.services.limits, totalTimeoutMs, fresh)
}
