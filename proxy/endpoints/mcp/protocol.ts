import {
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  ProtocolErrorCode,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server'

/** The revision of the Model Context Protocol without a handshake. https://modelcontextprotocol.io/specification */
export const MODERN_REVISION = '2026-07-28'

/** The revisions that are spoken, newest first. */
export const PROTOCOL_VERSIONS: readonly string[] = [MODERN_REVISION, ...SUPPORTED_PROTOCOL_VERSIONS]

/** A code of the range that JSON-RPC 2.0 leaves to the server: the HTTP request that carries a message is invalid. */
export const HTTP_FAULT = -32_000
export const HEADER_MISMATCH = -32_020
/** Codes of the payment extension: https://paymentauth.org */
export const PAYMENT_REQUIRED = -32_042
export const VERIFICATION_FAILED = -32_043

/**
 * An error that a message is answered with in place of a result. It does not extend the library's ProtocolError, which takes
 * -32042 for the code of an elicitation and replaces it.
 */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: unknown
  readonly status: number
  /** Of the message at fault, as JSON; absent where the handler knows it, or there is none. */
  readonly id?: string

  /** @param status of the HTTP answer; errors of a single call are HTTP answers with status 200 */
  constructor(
    code: number,
    message: string,
    { data, status = 200, id }: { data?: unknown; status?: number; id?: string } = {},
  ) {
    super(message)
    this.code = code
    this.data = data
    this.status = status
    if (id !== undefined) this.id = id
  }
}

/** A revision that is not spoken. */
export function unsupportedVersion(requested: string): RpcError {
  const data = { supported: PROTOCOL_VERSIONS, requested }
  const message = 'This MCP-Protocol-Version is not supported.'
  return new RpcError(ProtocolErrorCode.UnsupportedProtocolVersion, message, { status: 400, data })
}

/** The HTTP status of an error that was found before a method ran. @param isModern in the revision without a handshake */
export function faultStatus(code: number, isModern: boolean): number {
  if (!isModern || code === INVALID_PARAMS) return 200
  return code === METHOD_NOT_FOUND ? 404 : 400
}

/** The text of an answer with a result. @param id as JSON, exactly as it was sent */
export function resultText(id: string, result: unknown): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`
}

/** The text of an answer with an error. @param id as JSON; `null` where the message had none that could be read */
export function errorText(id: string, { code, message, data }: Pick<RpcError, 'code' | 'message' | 'data'>): string {
  const error = data === undefined ? { code, message } : { code, message, data }
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`
}
