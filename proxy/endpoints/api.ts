import { type ApiRoute, paramsReader } from '../../contract/api/route.ts'
import { API_ROUTES } from '../../contract/api/routes.ts'
import { GatewayError, invalidRequest } from '../../contract/errors/errors.ts'
import type { sluice } from '../../contract/wire/generated/messages.js'
import { isId } from '../../contract/wire/ids.ts'
import { type ApiCredential, readApiCredential } from '../access/apiCredential.ts'
import { clientAddress } from '../access/clientAddress.ts'
import { ControlUnavailable, type RpcClient } from '../bus/rpcClient.ts'
import type { Exchange, Handler, HeaderList, Precheck } from '../server/exchange.ts'
import type { KeptAnswers } from './keptAnswers.ts'
import type { EndpointLimits } from './limits.ts'
import { answerKept, PublicReaders } from './publicRead.ts'

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/
/** The number of attempts to get the next part of an answer before the answer is broken off. */
const PART_ATTEMPTS = 3
const EMPTY = Buffer.alloc(0)

export interface ApiServices {
  readonly rpc: RpcClient
  /** The answers to public reads. */
  readonly kept: KeptAnswers
  readonly limits: EndpointLimits
  readonly trustedProxies: number
}

/** The endpoints that control serves: all of contract/api/routes.ts, each passed on as one call. */
export function apiEndpoints(
  services: ApiServices,
): { method: ApiRoute['method']; path: string; handler: Handler; precheck: Precheck }[] {
  const readers = new PublicReaders(services.limits)
  return Object.entries(API_ROUTES).map(([operation, route]: [string, ApiRoute]) => {
    const served = { operation, route, paramsOf: paramsReader(route) }
    return {
      method: route.method,
      path: route.path,
      handler: (exchange, body) =>
        route.cache === undefined
          ? serve(served, exchange, body, services)
          : servePublic(served, route.cache, exchange, readers, services),
      precheck: (head) =>
        refusalOf(() => readApiCredential(head, route.auth)) ?? earlyTooLarge(services.limits) ?? 'stranger',
    }
  })
}

/** A row of the table of routes. */
interface Served {
  readonly operation: string
  readonly route: ApiRoute
  readonly paramsOf: (path: string) => Record<string, string>
}

async function serve(
  { operation, route, paramsOf }: Served,
  exchange: Exchange,
  body: Buffer,
  services: ApiServices,
): Promise<void> {
  const { head } = exchange
  const request = {
    operation,
    params: paramsOf(head.path),
    query: head.query,
    ...credentialFields(readApiCredential(head, route.auth)),
    idempotencyKey: readIdempotencyKey(head.idempotencyKey),
    clientAddress: clientAddress(exchange, services.trustedProxies),
    body: readBody(route, body, services.limits),
    requestId: exchange.id,
    approvalId: readApprovalId(head.approvalId),
  }
  const reply = await callApi(services, route, request)
  const headers = ['cache-control', 'private, no-store', ...reply.headers]
  if (reply.nextPart === '') {
    exchange.answer(reply.status, reply.contentType, reply.body, headers)
  } else if (head.method === 'HEAD') {
    // The length of an answer in parts is known once all are made.
    exchange.answer(reply.status, reply.contentType, '', headers)
  } else {
    await answerInParts(exchange, reply, headers, (part) => nextPart(services, route, { ...request, part }))
  }
}

/** Serves a read whose answer is the same for every client. */
async function servePublic(
  { operation, paramsOf }: Served,
  { maxAgeSeconds }: NonNullable<ApiRoute['cache']>,
  exchange: Exchange,
  readers: PublicReaders,
  services: ApiServices,
): Promise<void> {
  const { path, query } = exchange.head
  const address = clientAddress(exchange, services.trustedProxies)
  readers.count(address)
  const request = { operation, params: paramsOf(path), query, clientAddress: address, requestId: exchange.id }
  const ask = (timeoutMs: number | undefined) =>
    services.rpc.call('account_api', request, timeoutMs ?? services.limits.apiTimeoutMs)
  const answer = await services.kept.find({ path, query, maxAgeMs: maxAgeSeconds * 1_000, ask })
  answerKept(exchange, answer, maxAgeSeconds)
}

const credentialFields = ({ kind, hash }: ApiCredential) => ({ credential: kind, credentialHash: hash })

function readIdempotencyKey(text: string): string {
  if (text === '' || IDEMPOTENCY_KEY.test(text)) return text
  throw invalidRequest('Idempotency-Key must be 1 to 255 printable characters without spaces.', 'Idempotency-Key')
}

/** @throws GatewayError approval_not_found for a text that cannot be the id of an approval */
function readApprovalId(text: string): string {
  if (text === '' || isId('apr', text)) return text
  throw new GatewayError('approval_not_found', { param: 'x-approval-id' })
}

function readBody(route: ApiRoute, body: Buffer, limits: EndpointLimits): Buffer {
  if (route.body === undefined) return EMPTY
  if (body.length > limits.apiBodyBytesMax) throw tooLarge(limits)
  return body
}

/** The server calls this once a body exceeds the size that it reads unchecked; most such bodies are already too large. */
function earlyTooLarge(limits: EndpointLimits): GatewayError | undefined {
  return limits.apiBodyBytesMax <= limits.uncheckedBodyBytesMax ? tooLarge(limits) : undefined
}

function tooLarge(limits: EndpointLimits): GatewayError {
  const message = `The request body is larger than ${limits.apiBodyBytesMax} bytes; send a smaller one.`
  return new GatewayError('body_too_large', { message })
}

function refusalOf(check: () => unknown): GatewayError | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/**
 * Asks control to answer a request. It is asked once, without a retry: a call that timed out may have taken effect.
 * @throws GatewayError control's error, or admission_unavailable when it times out
 */
async function callApi(
  services: ApiServices,
  route: ApiRoute,
  request: sluice.ApiRequest.$Properties,
): Promise<sluice.ApiReply> {
  const { rpc, limits } = services
  return rpc.call('account_api', request, limits.apiTimeoutMs).catch((error: unknown) => {
    if (!(error instanceof ControlUnavailable)) throw error
    const message =
      route.method === 'GET'
        ? 'The gateway cannot reach its accounts; try again after Retry-After seconds.'
        : 'The gateway cannot reach its accounts; look whether the change was made before you send it again.'
    throw new GatewayError('admission_unavailable', { message, retryAfterSeconds: 1, cause: error })
  })
}

/** Sends a long answer part by part; each part is requested when the client has taken the one before. */
async function answerInParts(
  exchange: Exchange,
  first: sluice.ApiReply,
  headers: HeaderList,
  nextOf: (part: string) => Promise<sluice.ApiReply | undefined>,
): Promise<void> {
  const flow = new ClientFlow(exchange)
  exchange.beginStream(headers, first.contentType)
  for (let reply = first; !exchange.gone; ) {
    if (reply.nextPart === '') {
      exchange.end(reply.body)
      return
    }
    if (reply.body.length > 0 && !exchange.write(reply.body)) await flow.ready()
    const next = await nextOf(reply.nextPart)
    if (next === undefined) {
      exchange.breakOff()
      return
    }
    reply = next
  }
}

/** Parts are only read, so asking again changes nothing. */
async function nextPart(
  services: ApiServices,
  route: ApiRoute,
  request: sluice.ApiRequest.$Properties,
): Promise<sluice.ApiReply | undefined> {
  for (let attempt = 0; attempt < PART_ATTEMPTS; attempt++) {
    try {
      return await callApi(services, route, request)
    } catch (error) {
      if (!(error instanceof GatewayError) || error.status < 500) return undefined
    }
  }
  return undefined
}

/** Backpressure for a client that reads more slowly than the answer arrives. */
class ClientFlow {
  private readonly exchange: Exchange
  private wake: () => void = () => undefined

  constructor(exchange: Exchange) {
    this.exchange = exchange
    exchange.setGoneListener({ onGone: () => this.wake() })
  }

  ready(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve
      this.exchange.setDrainListener({ onDrain: resolve })
    })
  }
}
