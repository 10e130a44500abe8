import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hindrances } from '../metrics/vitals.ts'
import { renderMetrics } from './renderMetrics.ts'
import type { WorkerProcesses } from './workerProcesses.ts'

/**
 * The private port: /metrics for Prometheus, /live for a supervisor, /ready for a load balancer. It runs in the
 * supervisor, so that it answers even while a worker is busy.
 */
export class MetricsServer {
  private readonly workers: WorkerProcesses
  private readonly server: Server

  constructor(workers: WorkerProcesses) {
    this.workers = workers
    this.server = createServer((request, response) => {
      // A client that scrapes seldom would otherwise send a request on a connection that is just being closed as idle.
      response.setHeader('connection', 'close')
      this.answer(request, response).catch(() => response.destroy())
    })
  }

  /**
   * Listens on the loopback address.
   * @returns the port
   */
  listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject)
      this.server.listen(port, '127.0.0.1', () => resolve((this.server.address() as AddressInfo).port))
    })
  }

  close(): Promise<void> {
    this.server.closeAllConnections()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/live') {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('ok\n')
      return
    }
    const snapshots = await this.workers.snapshots()
    if (request.url === '/ready') {
      const ready = snapshots.some(({ vitals }) => hindrances(vitals).length === 0)
      response.writeHead(ready ? 200 : 503, { 'content-type': 'text/plain' }).end(ready ? 'ready\n' : 'not ready\n')
      return
    }
    if (request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    const { text, contentType } = await renderMetrics(snapshots, this.workers)
    response.writeHead(200, { 'content-type': contentType }).end(text)
  }
}
