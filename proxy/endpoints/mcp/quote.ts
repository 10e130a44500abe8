import type { CallToolResult } from '@modelcontextprotocol/server'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { amountJson } from '../../../contract/money/receipt.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import { encodeHoldMeta } from '../../../contract/wire/holdMeta.ts'
import { payerPrincipal } from '../../access/payerPrincipal.ts'
import type { Sheet } from '../../catalog/pricedItem.ts'
import { chatSurface } from '../../dialects/chatSurface.ts'
import { PaidRequest } from '../../payments/paidRequest.ts'
import { type Admitted, wantUnitsOf } from '../chat/admit.ts'
import { refuseAdmittedBatch } from '../chat/chat.ts'
import { admitAny } from '../chat/fallback.ts'
import { CallExchange } from './callExchange.ts'
import { bodyOfCall, CHAT_PATH } from './chat.ts'
import { callerOf, type McpCall, type McpParts } from './parts.ts'
import { expanded, structured } from './results.ts'
import { sheetDocument } from './sheetDocument.ts'

/** The principal whose prices a caller without a key sees. */
const NOBODY = payerPrincipal(`0x${'00'.repeat(20)}`)

/** The tool `quote`: the worst case of a chat call with these arguments, by the rules and the rates of the caller. */
export async function quoteTool(call: McpCall, parts: McpParts): Promise<CallToolResult> {
  const { catalog, services, keys } = parts
  const { exchange, credential } = call
  const body = bodyOfCall(call)
  const large = services.large.of(body, credential.hasKey ? 'customer' : 'stranger', '')
  const request =
    large === undefined
      ? chatSurface.read(parseJsonObject(body.toString('utf8')) ?? {}, services.limits)
      : await large.run('chat', { surface: 'chat', answers: true })
  const principal = credential.hasKey ? await callerOf(call, keys) : NOBODY
  const admitted = admitAny(request, chatSurface, principal, catalog, {
    health: services.health,
    nowMs: exchange.startedAtMs,
    requestId: '',
    session: exchange.head.session ?? '',
  })
  if (request.batch) refuseAdmittedBatch()
  const { size } = admitted
  const { sheet, id } = admitted.model
  const payment = credential.hasKey ? undefined : await offer(call, body, admitted, parts)
  return structured({
    object: 'quote',
    model: id,
    endpoint: 'chat',
    price_sheet: String(sheet.version),
    hold: JSON.parse(amountJson(wantUnitsOf(admitted), sheet.coinUsdUnits)) as JsonObject,
    price: priceOf(sheet, id, principal.privateTier),
    prompt_tokens_max: size.promptTokens,
    max_tokens: size.outputTokens,
    ...(payment !== undefined && { payment }),
  })
}

/** How the call can be paid: the payment that the tool `chat` would require. Undefined where no payments are accepted. */
async function offer(
  call: McpCall,
  body: Buffer,
  admitted: Admitted,
  { payments }: McpParts,
): Promise<JsonObject | undefined> {
  const { model } = admitted
  const head = { ...call.credential.head, path: CHAT_PATH, authorization: '', paymentSignature: '' }
  const inner = new CallExchange(call.exchange, head, body, () => undefined)
  const paid = new PaidRequest(payments, inner, body)
  const holdMeta = encodeHoldMeta({
    model: model.id,
    endpoint: 'chat',
    sheetVersion: model.sheet.version,
    streamed: false,
  })
  try {
    await paid.quote({ requestId: inner.id, wantUnits: wantUnitsOf(admitted), holdMeta })
    return undefined
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const asked = paid.onFailure(error)
    const { quote, payment } = parseJsonObject(asked?.body ?? '') ?? {}
    if (!isJsonObject(payment)) return undefined
    const challenges = Array.isArray(payment['mpp']) ? payment['mpp'].map(expanded) : []
    const shown = isJsonObject(quote) && { expires_at: quote['expires_at'], minimum_charge: quote['minimum_charge'] }
    return { ...shown, x402: payment['x402'], mpp: challenges }
  }
}

/** The prices of a model as its sheet has them. */
function priceOf(sheet: Sheet, modelId: string, isPrivate: boolean): JsonObject {
  const listed = sheetDocument(sheet).models.get(modelId)
  const price = isPrivate ? listed?.['price_private'] : listed?.['price']
  return isJsonObject(price) ? price : {}
}
