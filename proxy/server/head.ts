import type { RequestHead } from './exchange.ts'
import type { HttpRequest } from './uws.ts'

const UNSET = -1
/** Stands for a header that was sent and is empty: the HTTP server package trims bytes beyond ASCII off. */
const UNREADABLE = ' '
/** A second credential after the first, as clients join headers that are set twice. */
const SECOND_CREDENTIAL = /,\s*(bearer|payment)\s/i

/** A request's head with the values that the server itself needs. */
export interface ParsedHead {
  readonly head: RequestHead
  /** Bytes announced by Content-Length, or -1. */
  readonly contentLength: number
  readonly chunked: boolean
  /** The body is in a content coding: compressed, as a rule. */
  readonly isCoded: boolean
  /** Why the framing of the body cannot be trusted, or an empty string. */
  readonly framingFault: string
  /** More than one credential was sent under one name. */
  readonly hasTwoCredentials: boolean
}

/**
 * Reads a request's head in one pass. Duplicate Content-Length headers, transfer codings other than chunked, and both
 * together are framing faults: the HTTP server package lets them pass, and they are how requests get smuggled
 * (RFC 9112 section 6.3).
 */
export function parseHead(req: HttpRequest): ParsedHead {
  let authorization = ''
  let apiKey = ''
  let contentType = ''
  let origin = ''
  let host = ''
  let paymentSignature = ''
  let hasPaymentV1 = false
  let acceptPayment = ''
  let agent = ''
  let idempotencyKey = ''
  let approvalId = ''
  let forwardedFor = ''
  let ifNoneMatch = ''
  let mcpVersion = ''
  let mcpMethod = ''
  let mcpName = ''
  let session = ''
  let tags = ''
  let traceParent = ''
  let traceState = ''
  let contentLength = UNSET
  let chunked = false
  let isCoded = false
  let framingFault = ''
  let hasTwoCredentials = false

  req.forEach((name, value) => {
    switch (name) {
      case 'authorization':
        hasTwoCredentials ||= isSecond(authorization, value) || SECOND_CREDENTIAL.test(value)
        authorization = value
        break
      case 'x-api-key':
        hasTwoCredentials ||= isSecond(apiKey, value)
        apiKey = value
        break
      case 'content-type':
        contentType = value
        break
      case 'origin':
        origin = value
        break
      case 'host':
        host = value
        break
      case 'payment-signature':
        paymentSignature = joined(paymentSignature, value)
        break
      case 'x-payment':
        hasPaymentV1 = value !== ''
        break
      case 'accept-payment':
        acceptPayment = value
        break
      case 'x-erc8004-agent':
        agent = value
        break
      case 'idempotency-key':
        idempotencyKey = value === '' ? UNREADABLE : value
        break
      case 'x-approval-id':
        approvalId = value
        break
      case 'x-forwarded-for':
        forwardedFor = joined(forwardedFor, value)
        break
      case 'if-none-match':
        ifNoneMatch = joined(ifNoneMatch, value)
        break
      case 'mcp-protocol-version':
        mcpVersion = value
        break
      case 'mcp-method':
        mcpMethod = value
        break
      case 'mcp-name':
        mcpName = value
        break
      // Two of them are malformed together, and neither counts.
      case 'traceparent':
        traceParent = joined(traceParent, value)
        break
      case 'tracestate':
        traceState = joined(traceState, value)
        break
      case 'content-length':
        if (contentLength !== UNSET) framingFault = 'Content-Length is sent twice'
        else if (!/^[0-9]{1,15}$/.test(value)) framingFault = 'Content-Length is not a number'
        else contentLength = Number(value)
        break
      case 'content-encoding':
        isCoded ||= !/^(?:identity)?$/i.test(value.trim())
        break
      case 'transfer-encoding':
        if (chunked || value.trim().toLowerCase() !== 'chunked') framingFault = 'Transfer-Encoding is not just chunked'
        chunked = true
        break
      case 'x-sluice-tags':
        tags = joined(tags, value)
        break
      // Of any client, and of common coding agents.
      case 'x-session-id':
      case 'x-claude-code-session-id':
      case 'session-id':
      case 'session_id':
      case 'x-session-affinity':
      case 'x-opencode-session':
      case 'x-amp-thread-id':
        if (session === '' || name === 'x-session-id') session = value
        break
    }
  })
  if (chunked && contentLength !== UNSET) framingFault = 'Content-Length and Transfer-Encoding are both sent'
  const head: RequestHead = {
    method: req.getCaseSensitiveMethod().toUpperCase(),
    path: cleanPath(req.getUrl()),
    query: req.getQuery() ?? '',
    authorization,
    apiKey,
    contentType,
    origin,
    host,
    paymentSignature,
    hasPaymentV1,
    acceptPayment,
    agent,
    idempotencyKey,
    approvalId,
    forwardedFor,
    ifNoneMatch,
    mcpVersion,
    mcpMethod,
    mcpName,
    session,
    tags,
    traceParent,
    traceState,
  }
  return { head, contentLength, chunked, isCoded, framingFault, hasTwoCredentials }
}

const joined = (before: string, value: string): string => (before === '' ? value : `${before},${value}`)
const isSecond = (before: string, value: string): boolean => before !== '' && before !== value

/** Decodes a path once and drops a trailing slash; a path that does not decode is left as it is. */
function cleanPath(path: string): string {
  const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
  if (!trimmed.includes('%')) return trimmed
  try {
    return decodeURIComponent(trimmed)
  } catch {
    return trimmed
  }
}
