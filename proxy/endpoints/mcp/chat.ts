import type { CallToolResult } from '@modelcontextprotocol/server'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { payerPrincipal } from '../../access/payerPrincipal.ts'
import { chatSurface } from '../../dialects/chatSurface.ts'
import { PaidRequest } from '../../payments/paidRequest.ts'
import { chatServe } from '../chat/chat.ts'
import type { Serve } from '../run/serve.ts'
import type { RunServices } from '../run/services.ts'
import { CallExchange, type CallOutcome } from './callExchange.ts'
import { chatBody } from './chatBody.ts'
import { checkDeadline } from './credential.ts'
import { callerOf, type McpCall, type McpParts } from './parts.ts'
import { chatResult, errorResult, paymentResult } from './results.ts'

/** The path that a payment of a chat call is bound to, and its address in x402. */
export const CHAT_PATH = 'mcp://tool/chat'

/** The tool `chat`: POST /v1/chat/completions on a key, or /x402/v1/chat/completions with a payment in `_meta`. */
export function chatTool(parts: McpParts): (call: McpCall) => Promise<CallToolResult> {
  const chat = chatServe(chatSurface, parts.catalog)
  return async (call) => {
    const body = bodyOfCall(call)
    const outcome = await (call.credential.hasKey ? onKey(call, body, chat, parts) : onPayment(call, body, chat, parts))
    if (outcome.kind === 'answer') return chatResult(outcome.body, outcome.headers)
    const { error, asked } = outcome
    if (asked !== undefined) return paymentResult(error, asked, call.credential, call.exchange.id)
    return errorResult(keyless(error, call), call.exchange.id)
  }
}

/** The chat request of a call, as a body. @throws GatewayError 400 */
export function bodyOfCall({ chat, input }: McpCall): Buffer {
  return chat ?? Buffer.from(chatBody(input))
}

/** Where payments are not accepted, the error of a call without a key is the missing key. */
function keyless(error: GatewayError, { credential }: McpCall): GatewayError {
  if (credential.hasKey || error.row !== 'not_found') return error
  return new GatewayError('invalid_api_key', { message: 'Send an API key as Authorization: Bearer sk_...' })
}

/** The services of chats whose answers become results, which are parsed and written again as a whole. */
function servicesOf({ services }: McpParts): RunServices {
  const { mcpAnswerBytesMax, chatAnswerBytesMax } = services.limits
  return {
    ...services,
    limits: { ...services.limits, chatAnswerBytesMax: Math.min(mcpAnswerBytesMax, chatAnswerBytesMax) },
  }
}

async function onKey(call: McpCall, body: Buffer, serve: Serve, parts: McpParts): Promise<CallOutcome> {
  const principal = await callerOf(call, parts.keys)
  return run(call, body, (inner) => serve(inner, body, principal, servicesOf(parts)), parts)
}

async function onPayment(call: McpCall, body: Buffer, serve: Serve, parts: McpParts): Promise<CallOutcome> {
  const { payments } = parts
  const services = servicesOf(parts)
  const { protocol } = call.credential
  if (protocol !== 'none') checkDeadline(call.meta, services.limits.mcpPaidTimeMinMs, Date.now())
  return run(
    call,
    body,
    (inner) => {
      const paid = new PaidRequest(payments, inner, body)
      return serve(inner, body, payerPrincipal(paid.payer), { ...services, holds: services.singly(paid), paid })
    },
    parts,
  )
}

/** Serves the call, and waits for its end. A client that leaves ends it by the rules of every request. */
function run(
  call: McpCall,
  body: Buffer,
  serve: (inner: CallExchange) => void | Promise<void>,
  { services }: McpParts,
): Promise<CallOutcome> {
  return new Promise((resolve) => {
    const inner = new CallExchange(call.exchange, call.credential.head, body, resolve)
    const fail = (error: unknown): void => {
      if (!(error instanceof GatewayError)) services.onCrash(error, inner.id)
      const shown = error instanceof GatewayError ? error : new GatewayError('internal_error')
      services.metrics.noteError(shown.row)
      inner.fail(shown)
    }
    try {
      Promise.resolve(serve(inner)).catch(fail)
    } catch (error) {
      fail(error)
    }
  })
}
