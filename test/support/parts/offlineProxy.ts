import { GatewayError } from '../../../contract/errors/errors.ts'
import type { PaymentTerms } from '../../../contract/payments/terms.ts'
import { type PaymentCheck, verdictOf } from '../../../contract/payments/verdict.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { parseCatalog } from '../../../control/catalog/pricing/catalogFile.ts'
import { encodeRecord } from '../../../control/catalog/pricing/record.ts'
import { toPrincipal } from '../../../proxy/access/principal.ts'
import type { Holding } from '../../../proxy/admission/holds.ts'
import { UnmeteredHolds, UnmeteredSettlements } from '../../../proxy/admission/unmetered.ts'
import { ControlUnavailable } from '../../../proxy/bus/rpcClient.ts'
import { decodeCatalog } from '../../../proxy/catalog/catalog.ts'
import { LargeBodies } from '../../../proxy/endpoints/largeBodies/largeBodies.ts'
import { ActiveRuns } from '../../../proxy/endpoints/run/activeRuns.ts'
import { RequestMetrics } from '../../../proxy/metrics/requestMetrics.ts'
import { type RouteParts, routes } from '../../../proxy/routes.ts'
import type { AnswerDecorator, Exchange, Handler, HeaderList, RequestHead } from '../../../proxy/server/exchange.ts'
import type { RouteEntry } from '../../../proxy/server/routeTable.ts'
import { OutBuffer } from '../../../proxy/sse/outBuffer.ts'
import { AnswerMemory } from '../../../proxy/upstream/answerMemory.ts'
import { RouteHealth } from '../../../proxy/upstream/routeHealth.ts'
import {
  TransportFailure,
  type UpstreamCall,
  type UpstreamListener,
  type UpstreamRequest,
} from '../../../proxy/upstream/transport/transport.ts'
import { limits as usual } from '../limits.ts'
import { type TestCatalogOptions, testCatalog } from '../testCatalog.ts'
import { deliver, type OfflineAnswer } from './offlineAnswer.ts'

const API_KEY = `sk_${'0'.repeat(43)}`
/** Health is not what is looked at: routes stay in use however often they fail. */
const LIMITS = { ...usual, breakerFailures: Number.MAX_SAFE_INTEGER }
/** Payments are asked for and checked; control is asked to make them in vain. */
const TERMS: PaymentTerms = {
  chainId: 31_337,
  payTo: `0x${'22'.repeat(20)}`,
  assets: [
    {
      id: 'stablecoin',
      address: `0x${'11'.repeat(20)}`,
      decimals: 6,
      name: 'USD Coin',
      version: '2',
      method: 'eip3009',
      usdUnits: 1_000_000_000,
    },
  ],
  agentRegistry: null,
  spender: `0x${'33'.repeat(20)}`,
  quoteSecret: Buffer.alloc(32, 7),
  minUnits: 0,
  marginSeconds: 8,
}
/** Longer bytes of an answer are not shown as text. */
const SHOWN_BYTES_MAX = 16_384
const NO_CALL = { pause: () => undefined, resume: () => undefined, cancel: () => undefined, letGo: () => undefined }

/** How a request was answered. */
export interface OfflineReply {
  readonly status: number
  readonly text: string
  /** Of an answer that asks for a payment: name, value, name, value; none for others. */
  readonly headers: HeaderList
  /** Of an answer that was bytes. */
  readonly bytes?: number
}

/**
 * The proxy's own routes without a server, Redis, control or providers: every hold is granted, every provider is asked
 * in vain. Requests are read, checked, priced and written for each dialect as they always are.
 */
export class OfflineProxy {
  /** What was thrown that is no error of the error table. */
  readonly faults: unknown[] = []
  /** What providers were asked. */
  asked = 0
  lastAsked: UpstreamRequest | undefined
  /** What every provider answers with status 200; without it, they are asked in vain. */
  answer: OfflineAnswer | undefined
  /** The proxy's own table of routes. */
  readonly table: readonly RouteEntry[]
  private readonly handlers = new Map<string, Handler>()
  private readonly large = new LargeBodies(LIMITS, (error) => this.faults.push(error))

  constructor(catalog: TestCatalogOptions) {
    const parsed = parseCatalog('catalog.yaml', testCatalog('http://127.0.0.1:9/v1', catalog))
    const publication = { version: 1, publishedAtMs: 0, validUntilMs: 0, sheetJson: '{}', listedAtMs: new Map() }
    const current = decodeCatalog(encodeRecord(parsed, publication), { SLUICE_TEST_PROVIDER_KEY: 'k' })
    this.table = routes(this.parts(current))
    for (const { method, path, handler } of this.table) this.handlers.set(`${method} ${path}`, handler)
  }

  /** The head of a request with a key. @param changes differ from it */
  headOf(path: string, changes: Partial<RequestHead> = {}): RequestHead {
    return { ...HEAD, path, ...changes }
  }

  /**
   * Sends a body; resolves once it is answered.
   * @param path may be below a route that ends in `/*`
   * @param head as for `headOf`
   */
  send(path: string, body: Buffer, head: Partial<RequestHead> = {}): Promise<OfflineReply> {
    const route = `POST ${path}`
    const handler = this.handlers.get(route) ?? this.handlers.get(route.replace(/[^/]*$/, '*'))
    if (handler === undefined) throw new Error(`there is no ${route}`)
    return new Promise((resolve) => {
      const exchange = new OfflineExchange(this.headOf(path, head), body, resolve)
      const fail = (error: unknown): void => {
        if (!(error instanceof GatewayError)) this.faults.push(error)
        exchange.fail(error instanceof GatewayError ? error : new GatewayError('internal_error'))
      }
      try {
        Promise.resolve(handler(exchange, body)).catch(fail)
      } catch (error) {
        fail(error)
      }
    })
  }

  /** Ends the threads. */
  close(): Promise<void> {
    return this.large.close()
  }

  private parts(current: ReturnType<typeof decodeCatalog>): RouteParts {
    const fault = (error: unknown) => this.faults.push(error)
    const catalog = {
      current,
      model: (id: string) => current.models.get(id),
      tool: (id: string) => current.tools.get(id),
    }
    const rpc = { call: () => Promise.reject(new ControlUnavailable('no control', { unsent: true })) }
    const health = new RouteHealth(LIMITS)
    const record = {
      keyId: 'key_1',
      accountId: 'acct_1',
      privacyKnown: true,
      settingsKnown: true,
      allowRetention: true,
    }
    const principal = toPrincipal(sluice.KeyRecord.create(record), LIMITS)
    const services = {
      health,
      limits: LIMITS,
      owner: 'own_1',
      metrics: new RequestMetrics(LIMITS),
      outgoing: new OutBuffer(),
      answers: new AnswerMemory(LIMITS.answerBytesOpenMax),
      holds: new UnmeteredHolds(fault),
      lastingHolds: new UnmeteredHolds(fault),
      singly: (source: Holding) => source,
      settlements: new UnmeteredSettlements(fault),
      active: new ActiveRuns(),
      large: this.large,
      tokens: { count: () => Promise.resolve([1]), countSoon: () => Promise.resolve([1, 1]) },
      transport: { send: (request: UpstreamRequest, listener: UpstreamListener) => this.serve(request, listener) },
      onCrash: fault,
      onUsageContradicted: () => undefined,
      onRouteFault: () => undefined,
    }
    return {
      catalog,
      services,
      health,
      routeViews: health,
      rpc,
      limits: LIMITS,
      trustedProxies: 0,
      incidents: {},
      vitals: () => ({}),
      keys: { find: () => principal },
      videos: { reserve: () => false },
      batches: { submit: () => Promise.reject(new GatewayError('batch_unavailable', { status: 503 })) },
      payments: {
        publicUrl: '',
        limits: LIMITS,
        rpc,
        catalog,
        owner: 'own_1',
        trustedProxies: 0,
        terms: { current: () => Promise.resolve(TERMS) },
        verifier: { verify: (check: PaymentCheck) => Promise.resolve().then(() => verdictOf(check)) },
        onFault: fault,
      },
      site: { publicUrl: '', listenHost: '127.0.0.1' },
    } as unknown as RouteParts
  }

  private serve(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall {
    if (request.body !== null) this.asked++
    this.lastAsked = request
    if (this.answer !== undefined) return deliver(this.answer, listener)
    queueMicrotask(() => listener.onFailure(new TransportFailure('connect')))
    return NO_CALL
  }
}

const HEAD = {
  method: 'POST',
  authorization: `Bearer ${API_KEY}`,
  contentType: 'application/json',
  host: '127.0.0.1',
  query: '',
  apiKey: '',
  origin: '',
  paymentSignature: '',
  acceptPayment: '',
  agent: '',
  idempotencyKey: '',
  approvalId: '',
  forwardedFor: '',
  mcpVersion: '',
  mcpMethod: '',
  ifNoneMatch: '',
  mcpName: '',
}

/** Answers to whoever sent the request. */
class OfflineExchange implements Exchange {
  readonly id = 'req_00000000000000000000000000'
  readonly startedAtMs = Date.now()
  readonly arrivedAt = performance.now()
  readonly gone = false
  readonly begun = false
  isRecorded = false
  decorator: AnswerDecorator | null = null
  readonly head: RequestHead
  readonly body: Buffer
  private bytes = 0
  private readonly onReply: (reply: OfflineReply) => void

  constructor(head: RequestHead, body: Buffer, onReply: (reply: OfflineReply) => void) {
    this.head = head
    this.body = body
    this.onReply = onReply
  }

  answer(status: number, _contentType: string, body: string | Uint8Array): void {
    const isText = typeof body === 'string'
    const text = isText ? body : body.length > SHOWN_BYTES_MAX ? '' : Buffer.from(body).toString()
    this.onReply({ status, text, headers: [], bytes: isText ? 0 : body.length })
  }

  fail(error: GatewayError): void {
    const { status, code, message } = error
    const own = this.decorator?.onFailure(error)
    this.onReply({ status, text: own?.body ?? `${code}: ${message}`, headers: own?.headers ?? [] })
  }

  end(bytes?: Uint8Array): void {
    this.bytes += bytes?.length ?? 0
    this.onReply({ status: 200, text: '', headers: [], bytes: this.bytes })
  }

  breakOff(): void {
    this.end()
  }

  write(bytes: Uint8Array): boolean {
    this.bytes += bytes.length
    return true
  }

  remoteAddress(): string {
    return ''
  }

  takeBody(): undefined {
    return undefined
  }

  beginStream(): void {}
  setGoneListener(): void {}
  setDrainListener(): void {}
}
