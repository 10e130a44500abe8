import { type CallToolResult, INVALID_PARAMS } from '@modelcontextprotocol/server'
import { errorBody, type GatewayError } from '../../../contract/errors/errors.ts'
import { fromBase64Json, fromBase64UrlJson } from '../../../contract/payments/encoding.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '../../../contract/std/jsonObject.ts'
import type { FailureAnswer, HeaderList } from '../../server/exchange.ts'
import type { CallCredential } from './credential.ts'
import { PAYMENT_REQUIRED, RpcError, VERIFICATION_FAILED } from './protocol.ts'

/** Members of `_meta` with a payment that was made or is required. */
const X402_RESPONSE = 'x402/payment-response'
const MPP_RECEIPT = 'org.paymentauth/receipt'
const MPP_REQUIRED = 'org.paymentauth/payment-required'
const HEADER_BYTES_MAX = 16_384

/** A result with structured content. @param text for the model, in place of the content as JSON */
export function structured(content: JsonObject, text = JSON.stringify(content)): CallToolResult {
  return { content: [{ type: 'text', text }], structuredContent: content }
}

/** An error of the gateway as the result of a call, in the shape that it has everywhere, with its HTTP status. */
export function errorResult(error: GatewayError, requestId: string): CallToolResult {
  const body = parseJsonObject(errorBody(error, requestId)) ?? {}
  const retry = error.retryAfterSeconds === undefined ? {} : { retry_after: error.retryAfterSeconds }
  // A request that waits for its owner answers with the approval itself, whose type says so.
  const content =
    'error' in body ? body : { error: { message: error.message, type: error.type, code: error.code }, ...body }
  return { ...structured({ ...content, http_status: error.status, ...retry }), isError: true }
}

/** The completion of a chat call, with the receipt of its payment. */
export function chatResult(body: string, headers: HeaderList): CallToolResult {
  const completion = parseJsonObject(body) ?? {}
  return withMeta(structured(completion, replyText(completion)), headers)
}

/** Adds the payment receipt of the headers to a result. */
function withMeta(result: CallToolResult, headers: HeaderList): CallToolResult {
  const mpp = fromBase64UrlJson(headerOf(headers, 'payment-receipt'), HEADER_BYTES_MAX)
  if (mpp !== undefined) return { ...result, _meta: { ...result._meta, [MPP_RECEIPT]: mpp } }
  const x402 = fromBase64Json(headerOf(headers, 'payment-response'), HEADER_BYTES_MAX)
  return x402 === undefined ? result : { ...result, _meta: { ...result._meta, [X402_RESPONSE]: x402 } }
}

/**
 * The payment that is required. Clients of x402 get it as a result; those of MPP in its `_meta`, or as an error when their
 * credential was refused or they have stated which methods they accept.
 * @throws RpcError
 */
export function paymentResult(
  error: GatewayError,
  asked: FailureAnswer,
  { protocol, head }: CallCredential,
  requestId: string,
): CallToolResult {
  const { payment, type, title, status, detail } = parseJsonObject(asked.body) ?? {}
  // A call that was paid is not asked to pay again; the payment is refunded.
  if (!isJsonObject(payment)) return withMeta(errorResult(error, requestId), asked.headers)
  const { x402, mpp } = payment
  const required = isJsonObject(x402) ? x402 : {}
  const challenges = Array.isArray(mpp) ? mpp.map(expanded) : []
  const data = { httpStatus: 402, challenges, problem: { type, title, status, detail }, x402: required }
  if (protocol === 'mpp') {
    const isForm = error.row === 'mpp_malformed_credential' || error.row === 'mpp_invalid_payload'
    const code = isForm ? INVALID_PARAMS : VERIFICATION_FAILED
    throw new RpcError(code, error.message, { data: { ...data, error: { code: error.code, message: error.message } } })
  }
  if (protocol === 'none' && head.acceptPayment !== '') throw new RpcError(PAYMENT_REQUIRED, error.message, { data })
  const result: CallToolResult = { ...structured(required), isError: true }
  const meta = challenges.length === 0 ? {} : { _meta: { [MPP_REQUIRED]: { httpStatus: 402, challenges } } }
  return withMeta({ ...result, ...meta }, asked.headers)
}

/** A challenge as MCP carries it: its request is a plain object. */
export function expanded(challenge: unknown): unknown {
  if (!isJsonObject(challenge) || typeof challenge['request'] !== 'string') return challenge
  return { ...challenge, request: fromBase64UrlJson(challenge['request'], HEADER_BYTES_MAX) ?? {} }
}

/** The text of the model; the whole completion when it has no text. */
function replyText(completion: JsonObject): string {
  const { choices } = completion
  const [first] = Array.isArray(choices) ? (choices as unknown[]) : []
  const message = isJsonObject(first) ? first['message'] : undefined
  const content = isJsonObject(message) ? message['content'] : undefined
  return typeof content === 'string' && content !== '' ? content : JSON.stringify(completion)
}

function headerOf(headers: HeaderList, name: string): string {
  for (let at = 0; at + 1 < headers.length; at += 2) if (headers[at] === name) return headers[at + 1] ?? ''
  return ''
}
