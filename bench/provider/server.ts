import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js'
import uws from 'uWebSockets.js'
import { answerWhole } from './completion.ts'
import type { Kind } from './events.ts'
import { Exchange } from './exchange.ts'
import { answerError, answerFailure } from './failures.ts'
import type { Behaviour } from './grammar.ts'
import { behaviourOf } from './grammar.ts'
import type { Served } from './log.ts'
import { ServedLog } from './log.ts'
import { addMediaRoutes } from './media.ts'
import { parseChat, readBody, readHead } from './request.ts'
import { Stream } from './stream.ts'
import { MockVideos } from './videos.ts'
import { TimerWheel } from './wheel.ts'

export interface ProviderOptions {
  /** 0 takes any free port. */
  port: number
  host?: string
  /** Served lines are appended to this file as well. */
  logFile?: string
  /** Called with each line of the log as it is written down. */
  onServed?: (served: Served) => void
}

export interface Provider {
  port: number
  log: ServedLog
  /** Closes the port and every connection. */
  stop(): void
}

/**
 * Starts the mock provider inside this process.
 * @throws Error when the port is taken
 */
export function startProvider(options: ProviderOptions): Promise<Provider> {
  const host = options.host ?? '127.0.0.1'
  const log = new ServedLog(options.logFile, options.onServed)
  const wheel = new TimerWheel()
  // The package's types leave out close(), which ends the listener and all connections.
  const app = uws.App() as TemplatedApp & { close(): void }
  addRoutes(app, log, wheel)
  return new Promise((resolve, reject) => {
    app.listen(host, options.port, (socket) => {
      if (socket === false) return reject(new Error(`the mock provider cannot listen on ${host}:${options.port}`))
      const stop = () => {
        wheel.stop()
        app.close()
        log.close()
      }

      resolve({ port: uws.getSocketPort(socket), log, stop })
    })
  })
}

function addRoutes(app: TemplatedApp, log: ServedLog, wheel: TimerWheel): void {
  const failures = new Map<string, number>()
  const videos = new MockVideos(log, wheel, failures)
  const completion = (kind: Kind) => (res: HttpResponse, req: HttpRequest) => {
    const head = readHead(req)
    const exchange = new Exchange(res, log, head.requestId)
    readBody(res, (text) => {
      if (exchange.ended) return
      const request = text === undefined ? 'The body is too large.' : parseChat(text, kind)
      res.cork(() => {
        if (typeof request === 'string') return answerError(exchange, 400, undefined, request)
        exchange.accept(request, head)
        serve(exchange, wheel, failures)
      })
    })
  }
  app.post('/v1/chat/completions', completion('chat'))
  app.post('/v1/completions', completion('text'))
  addMediaRoutes(app, log, wheel, failures)
  videos.addRoutes(app)
  app.get('/v1/models', (res) => {
    const data = [{ id: 'chat-small', object: 'model', created: 1_763_683_200, owned_by: 'mock' }]
    sendJson(res, JSON.stringify({ object: 'list', data }))
  })
  app.get('/_log', (res, req) => {
    log.flush()
    const lines = log.since(Number(req.getQuery('since') ?? '') || 0).map((served) => `${JSON.stringify(served)}\n`)
    res.writeHeader('content-type', 'application/x-ndjson').end(lines.join(''))
  })
  app.get('/_stats', (res) => sendJson(res, JSON.stringify(log.stats())))
  app.post('/_reset', (res) => {
    log.reset()
    failures.clear()
    videos.reset()
    sendJson(res, '{}')
  })
  app.any('/*', (res) => {
    res.writeStatus('404 Not Found')
    sendJson(res, '{"error":{"message":"Unknown request URL","type":"invalid_request_error","param":null,"code":null}}')
  })
}

function sendJson(res: HttpResponse, text: string): void {
  res.writeHeader('content-type', 'application/json').end(text)
}

/** Answers one accepted request as its model name asks; runs inside a cork. */
function serve(exchange: Exchange, wheel: TimerWheel, failures: Map<string, number>): void {
  const { request } = exchange
  if (request === undefined) return
  let behaviour: Behaviour
  try {
    behaviour = behaviourOf(request.model)
  } catch (error) {
    return answerError(exchange, 404, undefined, error instanceof Error ? error.message : String(error))
  }
  if (answerFailure(exchange, behaviour, wheel, failures)) return
  if (request.stream) new Stream(exchange, behaviour, request, wheel).start()
  else answerWhole(exchange, behaviour, request, wheel)
}
