import { INVALID_PARAMS } from '@modelcontextprotocol/server'
import { parseTime } from '../../../contract/api/time.ts'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { toBase64Json, toBase64Url } from '../../../contract/payments/encoding.ts'
import { canonicalText, isPaymentScheme } from '../../../contract/payments/mpp.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import type { RequestHead } from '../../server/exchange.ts'
import { RpcError } from './protocol.ts'

/** Members of `_meta`: how x402 and MPP pay for a call, and by when its client gives up. */
const X402_PAYMENT = 'x402/payment'
const MPP_CREDENTIAL = 'org.paymentauth/credential'
const DEADLINE = 'sluice/deadline'
export const APPROVAL = 'sluice/approval-id'

const KEY = /^bearer\s+sk_/i

/** The caller, and how the call is paid. */
export interface CallCredential {
  readonly hasKey: boolean
  readonly protocol: 'x402' | 'mpp' | 'none'
  /** The head of the request that the call is. */
  readonly head: RequestHead
}

/**
 * The credential of a call: a key in the headers, or a payment, in `_meta` or in the headers as on other endpoints.
 * @param path the path that a payment is bound to in addition to the arguments
 * @throws GatewayError payment_with_key, payment_conflict; RpcError for a malformed payment
 */
export function readCallCredential(head: RequestHead, meta: JsonObject, path: string): CallCredential {
  const hasKey = KEY.test(head.authorization) || head.apiKey !== ''
  const isScheme = isPaymentScheme(head.authorization)
  const x402 = x402Header(meta[X402_PAYMENT])
  const mpp = mppHeader(meta[MPP_CREDENTIAL])
  const payments = [x402, mpp, head.paymentSignature, isScheme ? head.authorization : ''].filter((one) => one !== '')
  if (hasKey && payments.length > 0) throw new GatewayError('payment_with_key')
  if (payments.length > 1) throw new GatewayError('payment_conflict')
  const authorization = mpp === '' ? head.authorization : mpp
  const paymentSignature = x402 === '' ? head.paymentSignature : x402
  const protocol = paymentSignature !== '' ? 'x402' : mpp !== '' || isScheme ? 'mpp' : 'none'
  const approval = meta[APPROVAL]
  const approvalId = typeof approval === 'string' ? approval : head.approvalId
  return { hasKey, protocol, head: { ...head, method: 'POST', path, authorization, paymentSignature, approvalId } }
}

function x402Header(payment: unknown): string {
  if (payment === undefined || payment === null) return ''
  if (!isJsonObject(payment)) throw malformed(X402_PAYMENT)
  return toBase64Json(payment)
}

/** Over MCP the members `request` and `opaque` of a challenge are plain objects; elsewhere they are text. */
function mppHeader(credential: unknown): string {
  if (credential === undefined || credential === null) return ''
  if (!isJsonObject(credential) || !isJsonObject(credential['challenge'])) throw malformed(MPP_CREDENTIAL)
  const { request, opaque, meta: _expanded, ...challenge } = credential['challenge']
  const text = (value: unknown): unknown => (isJsonObject(value) ? canonicalText(value) : value)
  const wire = { ...credential, challenge: { ...challenge, request: text(request), opaque: text(opaque) } }
  return `Payment ${toBase64Url(JSON.stringify(wire))}`
}

function malformed(name: string): RpcError {
  return new RpcError(INVALID_PARAMS, `_meta["${name}"] must be an object with the payment.`)
}

/**
 * Refuses a paid call whose client gives up before it can be settled and served.
 * @param leastMs the least time that has to be left
 * @throws GatewayError deadline_too_close; RpcError for an invalid deadline
 */
export function checkDeadline(meta: JsonObject, leastMs: number, nowMs: number): void {
  const stated = meta[DEADLINE]
  if (stated === undefined || stated === null) return
  const deadlineMs = typeof stated === 'string' ? parseTime(stated) : undefined
  if (deadlineMs === undefined) {
    throw new RpcError(INVALID_PARAMS, `_meta["${DEADLINE}"] must be a time such as 2030-01-01T00:00:00Z.`)
  }
  if (deadlineMs - nowMs >= leastMs) return
  const message = `A paid call needs ${leastMs / 1000} seconds; nothing was settled. Allow more time.`
  throw new GatewayError('deadline_too_close', { message })
}
