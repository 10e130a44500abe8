import { GatewayError } from '../../../contract/errors/errors.ts'
import { readJsonBody } from '../../../contract/std/jsonBody.ts'
import type { ToolInput } from '../../../contract/tools/inputSchema.ts'
import { toolUnits } from '../../../contract/tools/rates.ts'
import type { Principal } from '../../access/principal.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import type { Tool } from '../../catalog/tool.ts'
import { type Preferences, readPreferences, refuseMaxPrice } from '../../dialects/shared/preferences.ts'
import type { RouteHealth } from '../../upstream/routeHealth.ts'
import { mayRetain } from '../run/checkModel.ts'
import type { Serve } from '../run/serve.ts'
import type { ToolLimits } from './limits.ts'
import { toolOf } from './list.ts'
import { checkPublicUrl } from './publicUrl.ts'
import { type PricedToolCall, ToolRun } from './run.ts'

/** POST /v1/tools/{id}: runs a priced tool. The body is the tool's input, and may carry `provider` as chat does. */
export function toolServe(catalog: CatalogStore): Serve {
  return (exchange, body, principal, services) => {
    const { limits, health } = services
    const tool = toolOf(exchange.head.path, catalog)
    checkKeyTools(principal, tool.id)
    if (!tool.enabled) throw new GatewayError('tool_unavailable')
    const { input, preferences } = readInput(body, limits)
    tool.checkInput(input)
    refuseMaxPrice(preferences)
    checkRetention(tool, preferences, principal)
    checkHealth(tool, health, exchange.startedAtMs)
    const call = priced(tool, input)
    const begin = (checked: PricedToolCall): void => {
      // No hold was taken yet, so a client that has disconnected meanwhile needs no cleanup.
      if (!exchange.gone) new ToolRun(exchange, principal, checked, services).start()
    }
    const { publicUrl } = tool
    if (publicUrl === '' || input[publicUrl] === undefined) return begin(call)
    // The upstream gets the address in the form that was checked, because its parser may find another host in the client's
    // text.
    return checkPublicUrl(input[publicUrl], publicUrl, limits.toolAddressTimeoutMs).then((href) =>
      begin({ ...call, input: { ...input, [publicUrl]: href } }),
    )
  }
}

/** Whether a key may use a tool. @throws GatewayError tool_not_allowed */
function checkKeyTools({ tools }: Principal, toolId: string): void {
  if (tools !== null && !tools.has(toolId)) throw new GatewayError('tool_not_allowed')
}

/** @throws GatewayError 400 */
function readInput(body: Buffer, limits: ToolLimits): { input: ToolInput; preferences: Preferences } {
  if (body.length > limits.toolInputBytesMax) {
    throw new GatewayError('body_too_large', { message: `Send at most ${limits.toolInputBytesMax} bytes to a tool.` })
  }
  try {
    const { provider, ...input } = readJsonBody(body, limits.jsonDepthMax)
    return { input, preferences: readPreferences(provider) }
  } catch (error) {
    if (!(error instanceof GatewayError) || error.row !== 'invalid_request') throw error
    const { message, param } = error
    throw new GatewayError('tool_input_invalid', param === null ? { message } : { message, param })
  }
}

/**
 * Tools whose upstream retains data require an opt-in: in the request, or else of the key or its account. A request cannot
 * override the privacy of its key. @throws GatewayError retention_required
 */
function checkRetention(tool: Tool, preferences: Preferences, principal: Principal): void {
  if (!tool.retained || mayRetain(preferences, principal)) return
  if (principal.noLogs || principal.privateTier) {
    const message = 'This tool keeps records, which the privacy mode of this key rules out; use another key.'
    throw new GatewayError('retention_required', { message })
  }
  throw new GatewayError('retention_required', { param: 'provider.allow_retention' })
}

/** @throws GatewayError upstream_rate_limited or tool_upstream_error while the upstream must not be called */
function checkHealth({ route }: Tool, health: RouteHealth, nowMs: number): void {
  const waitMs = health.waitMs(route.id, nowMs)
  if (waitMs === 0) return
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
  if (health.isCooling(route.id, nowMs)) throw new GatewayError('upstream_rate_limited', { retryAfterSeconds })
  const message = "The tool's provider keeps failing; nothing was sent or charged. Try again after Retry-After seconds."
  throw new GatewayError('tool_upstream_error', { message, retryAfterSeconds })
}

/** @throws GatewayError tool_input_invalid where the input asks for more results than the tool gives */
function priced(tool: Tool, input: ToolInput): PricedToolCall {
  const { limit, resultsMax, price } = tool
  const asked = limit === '' ? undefined : input[limit]
  const isCount = typeof asked === 'number' && Number.isSafeInteger(asked) && asked >= 1 && asked <= resultsMax
  if (asked !== undefined && !isCount) {
    const message = `${limit} must be a whole number from 1 to ${resultsMax}.`
    throw new GatewayError('tool_input_invalid', { message, param: limit })
  }
  const results = isCount ? asked : resultsMax
  return { tool, input, resultsMax: results, holdUnits: toolUnits(price, results) }
}
