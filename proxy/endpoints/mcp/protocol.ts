import type { JSONRPCErrorResponse, RequestId } from '@modelcontextprotocol/sdk/types.js'

/** Revisions of the Model Context Protocol that are spoken, newest first. https://modelcontextprotocol.io/specification */
export const PROTOCOL_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

/** Codes of JSON-RPC 2.0, section 5.1. */
export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
export const INVALID_PARAMS = -32_602
/** Codes of the protocol, and of its payment extension: https://paymentauth.org */
export const UNSUPPORTED_VERSION = -32_022
export const PAYMENT_REQUIRED = -32_042
export const VERIFICATION_FAILED = -32_043

/** What a message is answered with in place of a result. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: unknown
  readonly status: number

  /** @param status of the HTTP answer; errors of a single call are answers that went well */
  constructor(code: number, message: string, { data, status = 200 }: { data?: unknown; status?: number } = {}) {
    super(message)
    this.code = code
    this.data = data
    this.status = status
  }
}

/** The text of an answer with a result. @param id as JSON, exactly as it was sent */
export function resultText(id: string, result: unknown): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`
}

/** The text of an answer with an error. @param id as JSON; `null` where the message had none that could be read */
export function errorText(id: string, { code, message, data }: RpcError): string {
  const error: JSONRPCErrorResponse['error'] = data === undefined ? { code, message } : { code, message, data }
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`
}

/** Whether a value can be the id of a request. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value))
}
