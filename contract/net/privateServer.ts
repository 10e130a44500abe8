import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { EXPOSITION_TYPE } from '../std/exposition.ts'

const PLAIN = 'text/plain; charset=utf-8'

/** Where a program serves its metrics and probes. */
export interface PrivateAddress {
  readonly host: string
  /** Zero takes any free port. */
  readonly port: number
}

export interface PrivateServerParts {
  /** The bearer token that scrapes have to send; '' lets everybody scrape. Probes need none. */
  readonly token: string
  /** The reasons why the program cannot serve; none when it can. */
  hindrances(): Promise<readonly string[]>
  /** The metrics in the text format of Prometheus. */
  metrics(): Promise<string>
}

/**
 * The private port of a program: GET /metrics for Prometheus, /live for a supervisor and /ready for a load balancer. A read
 * that fails is answered 500.
 */
export class PrivateServer {
  private readonly parts: PrivateServerParts
  private readonly server: Server

  constructor(parts: PrivateServerParts) {
    this.parts = parts
    this.server = createServer((request, response) => {
      // A client that scrapes seldom would otherwise send a request on a connection that is just being closed as idle.
      response.setHeader('connection', 'close')
      this.answer(request, response).catch(() => {
        if (response.headersSent) response.destroy()
        else respond(response, 500, 'the metrics cannot be read\n')
      })
    })
  }

  /** @returns the port taken */
  listen({ host, port }: PrivateAddress): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject)
      this.server.listen(port, host, () => resolve((this.server.address() as AddressInfo).port))
    })
  }

  close(): Promise<void> {
    this.server.closeAllConnections()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path] = (request.url ?? '').split('?')
    if (request.method !== 'GET' && request.method !== 'HEAD')
      respond(response, 405, 'only GET and HEAD\n', { allow: 'GET, HEAD' })
    else if (path === '/live') respond(response, 200, 'ok\n')
    else if (path === '/ready') {
      const reasons = await this.parts.hindrances()
      const words = reasons.length === 0 ? 'ready' : `not ready: ${reasons.join(', ')}`
      respond(response, reasons.length === 0 ? 200 : 503, `${words}\n`)
    } else if (path !== '/metrics') respond(response, 404, 'not found; there are /metrics, /live and /ready\n')
    else if (!this.mayScrape(request)) {
      respond(response, 401, 'send the token of SLUICE_METRICS_TOKEN as a bearer token\n', {
        'www-authenticate': 'Bearer',
      })
    } else {
      const text = await this.parts.metrics()
      response.writeHead(200, { 'content-type': EXPOSITION_TYPE }).end(text)
    }
  }

  private mayScrape({ headers }: IncomingMessage): boolean {
    const { token } = this.parts
    const [, sent = ''] = /^bearer +(.*)$/i.exec(headers.authorization ?? '') ?? []
    return token === '' || timingSafeEqual(digest(sent), digest(token))
  }
}

function respond(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': PLAIN, ...headers }).end(text)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
