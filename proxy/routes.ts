import type { KeyCache } from './access/keyCache.ts'
import type { RpcClient } from './bus/rpcClient.ts'
import type { CatalogStore } from './catalog/catalogStore.ts'
import { chatSurface } from './dialects/chatSurface.ts'
import { compactSurface } from './dialects/compactSurface.ts'
import { completionsSurface } from './dialects/completionsSurface.ts'
import { messagesSurface } from './dialects/messagesSurface.ts'
import { responsesSurface } from './dialects/responsesSurface.ts'
import type { ChatSurface } from './dialects/shared/codec.ts'
import { apiEndpoints } from './endpoints/api.ts'
import type { BatchJobs } from './endpoints/batches/batchJobs.ts'
import { batchStart } from './endpoints/batches/run.ts'
import { chatServe } from './endpoints/chat/chat.ts'
import type { KeptAnswers } from './endpoints/keptAnswers.ts'
import { logFileHandler } from './endpoints/logFiles.ts'
import { mcpEndpoint, mcpPrecheck } from './endpoints/mcp/endpoint.ts'
import type { Site } from './endpoints/mcp/site.ts'
import { countTokensHandler } from './endpoints/messages/countTokens.ts'
import { embeddings } from './endpoints/modalities/embeddings.ts'
import { unitPrecheck, unitServe, uploadPrecheck } from './endpoints/modalities/handler.ts'
import { imageEdits } from './endpoints/modalities/imageEdits.ts'
import { images } from './endpoints/modalities/images.ts'
import type { Operation, UnitPlan, UnitRequest } from './endpoints/modalities/operation.ts'
import { rerank } from './endpoints/modalities/rerank.ts'
import { speech } from './endpoints/modalities/speech.ts'
import { transcriptions, translations } from './endpoints/modalities/transcriptions.ts'
import { modelsHandler } from './endpoints/models.ts'
import { openapiHandler } from './endpoints/openapi/openapi.ts'
import { paidHandler } from './endpoints/paid.ts'
import { pricingHandler, sheetHandler, sheetsHandler } from './endpoints/pricing.ts'
import { limitsHandler } from './endpoints/publicLimits.ts'
import { publicReceiptHandler, receiptHandler } from './endpoints/receipts.ts'
import { inputTokensHandler } from './endpoints/responses/inputTokens.ts'
import { keyPrecheck } from './endpoints/run/checkKey.ts'
import { keyedHandler, type Serve } from './endpoints/run/serve.ts'
import type { RunServices } from './endpoints/run/services.ts'
import { consoleHandler } from './endpoints/site/consolePage.ts'
import { pageHandler } from './endpoints/site/page.ts'
import { healthHandler, readyHandler } from './endpoints/status/health.ts'
import type { IncidentStore } from './endpoints/status/incidentStore.ts'
import { statusHandler, statusHistoryHandler } from './endpoints/status/status.ts'
import { toolServe } from './endpoints/tools/call.ts'
import { toolsHandler } from './endpoints/tools/list.ts'
import { videoServe } from './endpoints/videos/generate.ts'
import type { VideoJobs } from './endpoints/videos/jobs.ts'
import { videoReadHandler } from './endpoints/videos/read.ts'
import type { Limits } from './limits.ts'
import type { Vitals } from './metrics/vitals.ts'
import type { PaymentServices } from './payments/paidRequest.ts'
import type { RouteEntry } from './server/routeTable.ts'
import type { RouteHealth } from './upstream/routeHealth.ts'
import type { RouteViews } from './upstream/routeViews.ts'

/** The parts that the endpoints of a process need. */
export interface RouteParts {
  readonly keys: KeyCache
  readonly catalog: CatalogStore
  readonly services: RunServices
  readonly videos: VideoJobs
  readonly batches: BatchJobs
  readonly health: RouteHealth
  /** The view of routes of all processes. */
  readonly routeViews: Pick<RouteViews, 'isOpen'>
  readonly rpc: RpcClient
  readonly kept: KeptAnswers
  readonly limits: Limits
  readonly vitals: () => Vitals
  readonly incidents: IncidentStore
  readonly payments: PaymentServices
  /** The address of the gateway. */
  readonly site: Site
  /** See `clientAddress`. */
  readonly trustedProxies: number
}

/** Every path that is served, one row each. */
export function routes(parts: RouteParts): RouteEntry[] {
  const { keys, catalog, services, videos, batches, health, rpc, limits, vitals, incidents, payments, trustedProxies } =
    parts
  const precheck = keyPrecheck(keys)
  const mcpSender = mcpPrecheck(precheck)
  const keyed = (path: string, serve: Serve, more: Partial<RouteEntry> = {}): RouteEntry => ({
    method: 'POST',
    path,
    handler: keyedHandler(serve, keys, services),
    precheck,
    ...more,
  })
  /** An endpoint that is served to keys and, under /x402, to clients that pay per request. */
  const sold = (path: string, serve: Serve, more: Partial<RouteEntry> = {}): [own: RouteEntry, paid: RouteEntry] => [
    keyed(path, serve, more),
    {
      ...more,
      method: 'POST',
      path: `/x402${path}`,
      handler: paidHandler(serve, payments, services),
      precheck: undefined,
    },
  ]
  const unit = <Request extends UnitRequest, Plan extends UnitPlan>(
    path: string,
    operation: Operation<Request, Plan>,
  ): RouteEntry[] => {
    const { upload } = operation
    const [own, paid] = sold(path, unitServe(operation, catalog), { upload, precheck: unitPrecheck(upload, precheck) })
    return [own, { ...paid, precheck: uploadPrecheck(upload) }]
  }
  const chat = (surface: ChatSurface): Serve => chatServe(surface, catalog)
  const page = consoleHandler()
  const served: RouteEntry[] = [
    ...sold('/v1/chat/completions', chatServe(chatSurface, catalog, batchStart(batches))),
    keyed('/v1/messages', chat(messagesSurface)),
    {
      method: 'POST',
      path: '/v1/messages/count_tokens',
      handler: countTokensHandler(keys, catalog, services),
      precheck,
    },
    ...sold('/v1/completions', chat(completionsSurface)),
    keyed('/v1/responses', chat(responsesSurface)),
    keyed('/v1/responses/compact', chat(compactSurface)),
    {
      method: 'POST',
      path: '/v1/responses/input_tokens',
      handler: inputTokensHandler(keys, catalog, services),
      precheck,
    },
    ...unit('/v1/embeddings', embeddings),
    ...unit('/v1/images/generations', images),
    ...unit('/v1/images/edits', imageEdits),
    ...unit('/v1/audio/speech', speech),
    ...unit('/v1/audio/transcriptions', transcriptions),
    ...unit('/v1/audio/translations', translations),
    ...unit('/v1/rerank', rerank),
    ...sold('/v1/videos/generations', videoServe({ catalog, jobs: videos }), { drainCode: 'restarting' }),
    { method: 'GET', path: '/v1/videos/*', handler: videoReadHandler({ keys, catalog, jobs: videos, services, rpc }) },
    {
      method: 'POST',
      path: '/mcp',
      handler: mcpEndpoint({ ...parts, precheck: mcpSender }),
      precheck: mcpSender,
      comparesCredentials: true,
    },
    { method: 'GET', path: '/v1/tools', handler: toolsHandler(catalog) },
    { method: 'GET', path: '/v1/tools/*', handler: toolsHandler(catalog) },
    keyed('/v1/tools/*', toolServe(catalog)),
    { method: 'GET', path: '/v1/models', handler: modelsHandler(catalog, health) },
    { method: 'GET', path: '/v1/models/*', handler: modelsHandler(catalog, health) },
    { method: 'GET', path: '/v1/pricing', handler: pricingHandler(catalog, health) },
    { method: 'GET', path: '/v1/pricing/sheets', handler: sheetsHandler(rpc) },
    { method: 'GET', path: '/v1/pricing/sheets/*', handler: sheetHandler(rpc) },
    { method: 'GET', path: '/v1/limits', handler: limitsHandler(limits) },
    { method: 'GET', path: '/v1/receipts/*', handler: receiptHandler(keys, rpc) },
    { method: 'GET', path: '/x402/v1/receipts/*', handler: publicReceiptHandler(rpc) },
    { method: 'GET', path: '/v1/log/*', handler: logFileHandler(rpc) },
    { method: 'GET', path: '/skill.md', handler: pageHandler('skill.md', payments.publicUrl) },
    { method: 'GET', path: '/llms.txt', handler: pageHandler('llms.txt', payments.publicUrl) },
    { method: 'GET', path: '/console', handler: page },
    { method: 'GET', path: '/console/*', handler: page },
    {
      method: 'GET',
      path: '/v1/status',
      handler: statusHandler({ catalog, health: parts.routeViews, vitals, incidents }),
    },
    { method: 'GET', path: '/v1/status/history', handler: statusHistoryHandler(incidents, limits) },
    { method: 'GET', path: '/health', handler: healthHandler(catalog, health, vitals) },
    { method: 'GET', path: '/ready', handler: readyHandler(catalog, vitals) },
    ...apiEndpoints({ rpc, kept: parts.kept, limits, trustedProxies }),
  ]
  const document = { method: 'GET', path: '/v1/openapi.json' } as const
  return [...served, { ...document, handler: openapiHandler([...served, document], limits) }]
}
