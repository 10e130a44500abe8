import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestCertificate } from '../certificates.ts'

/** What is wrong with some answers of a gateway; a model of this name asks for it. */
export type GatewayFault =
  | 'clean'
  | 'lost-frame'
  | 'reordered-frame'
  | 'stall'
  | 'wrong-receipt'
  | 'wrong-book'
  | 'no-receipt'
  | 'errors'
  | 'error-event'
  | 'storm'
  | 'cut'
  | 'no-done'
  | 'step'

const FRAMES = 12
const PROMPT_TOKENS = 7
const UNITS = 1_900
/** One answer in so many has the fault. */
const EVERY = 100
/** Far above what is taken for a fault, because the client may stand still while one begins. */
const STALL_MS = 7_000
const STEP_MS = 7_000

/** A gateway in the process of a test, whose answers have receipts and numbered frames, and faults that are asked for. */
export class FaultyGateway {
  readonly baseUrl: string
  /** Of the model `step`: requests within a second that are answered immediately. */
  stepPerSecond = 40
  /** Requests by model. */
  readonly served = new Map<string, number>()
  private readonly server: Server
  private readonly booked = new Map<string, object>()
  private arrivals: number[] = []

  private constructor(server: Server, origin: string) {
    this.server = server
    this.baseUrl = `${origin}:${(server.address() as AddressInfo).port}`
  }

  /** @param certificate of `localhost`, by which it speaks TLS */
  static async start(certificate?: TestCertificate): Promise<FaultyGateway> {
    const server = certificate === undefined ? createServer() : createTlsServer(certificate)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const gateway = new FaultyGateway(server, certificate === undefined ? 'http://127.0.0.1' : 'https://localhost')
    server.on('request', (request, response) => void gateway.answer(request, response))
    return gateway
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await once(this.server, 'close')
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') {
      const receipt = this.booked.get(request.url?.split('/').at(-1) ?? '')
      response.writeHead(receipt === undefined ? 404 : 200).end(JSON.stringify(receipt ?? {}))
      return
    }
    const { model, stream } = (await json(request)) as { model: string; stream?: boolean }
    const count = (this.served.get(model) ?? 0) + 1
    this.served.set(model, count)
    const fault = model === 'storm' || model === 'step' || count % EVERY === 1 ? (model as GatewayFault) : 'clean'
    const id = `req_${model.toUpperCase()}_${count}`
    if (fault === 'errors' || fault === 'storm') {
      response.writeHead(500, { 'x-request-id': id }).end('{"error":{"code":"internal_error","message":"it broke"}}')
      return
    }
    if (fault === 'step' && this.isAboveStep()) await sleep(STEP_MS)
    if (stream) await this.stream(response, id, fault)
    else this.whole(response, id, fault)
  }

  private isAboveStep(): boolean {
    const nowMs = performance.now()
    this.arrivals = this.arrivals.filter((atMs) => nowMs - atMs < 1_000).concat(nowMs)
    return this.arrivals.length > this.stepPerSecond
  }

  private whole(response: ServerResponse, id: string, fault: GatewayFault): void {
    const message = { role: 'assistant', content: 'tok0' }
    const receipt = this.receipt(id, fault)
    const body = { choices: [{ index: 0, message }], usage: USAGE, ...(receipt !== undefined && { receipt }) }
    response.writeHead(200, { 'x-request-id': id, 'x-cost-units': String(UNITS) }).end(JSON.stringify(body))
  }

  private async stream(response: ServerResponse, id: string, fault: GatewayFault): Promise<void> {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': id })
    let numbers = Array.from({ length: FRAMES }, (_, i) => i)
    if (fault === 'lost-frame') numbers.splice(5, 1)
    if (fault === 'reordered-frame') numbers = [0, 1, 2, 4, 3, ...numbers.slice(5)]
    for (const number of numbers) {
      if (number === 6 && fault === 'cut') {
        // What was written must have left before the connection goes.
        response.write(': cut\n\n', () => response.destroy())
        return
      }
      if (number === 6 && fault === 'stall') await sleep(STALL_MS)
      response.write(`data: {"choices":[{"index":0,"delta":{"content":" tok${number}"}}]}\n\n`)
    }
    const receipt = this.receipt(id, fault)
    if (fault === 'error-event') response.write('data: {"error":{"code":"provider_failed","message":"it broke"}}\n\n')
    response.write(`data: {"choices":[],"usage":${JSON.stringify(USAGE)}}\n\n`)
    if (receipt !== undefined) response.write(`: receipt ${JSON.stringify(receipt)}\n\n`)
    response.end(fault === 'no-done' ? '' : 'data: [DONE]\n\n')
  }

  private receipt(id: string, fault: GatewayFault): object | undefined {
    const receipt = { request_id: id, status: 'ok', cost: { units: String(UNITS) }, usage: USAGE }
    const more = { ...receipt, usage: { ...USAGE, completion_tokens: FRAMES + 1 } }
    this.booked.set(id, fault === 'wrong-book' ? { ...receipt, cost: { units: String(UNITS + 1) } } : receipt)
    if (fault === 'no-receipt') return undefined
    return fault === 'wrong-receipt' ? more : receipt
  }
}

const USAGE = { prompt_tokens: PROMPT_TOKENS, completion_tokens: FRAMES, total_tokens: PROMPT_TOKENS + FRAMES }
