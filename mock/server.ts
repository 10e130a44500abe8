import type { HttpResponse, TemplatedApp } from 'uWebSockets.js'
import { createRequire } from 'node:module'
import { loadHttpServer } from '../proxy/server/httpServer.mjs'
import { MockAttestation } from './attestation/attestationRoute.ts'
import { MockBatches } from './batches.ts'
import { answerWhole } from './completion.ts'
import type { Kind } from './events.ts'
import { Exchange } from './exchange.ts'
import { answerError, answerFailure, later } from './failures.ts'
import type { Behaviour } from './grammar.ts'
import { behaviourOf } from './grammar.ts'
import type { Served } from './log.ts'
import { ServedLog } from './log.ts'
import { addMediaRoutes } from './media.ts'
import type { ChatBody } from './request.ts'
import { parseChat, readBody, readHead } from './request.ts'
import { Stream } from './stream.ts'
import { MockVideos } from './videos.ts'
import { TimerWheel } from './wheel.ts'

const uws = loadHttpServer(createRequire(import.meta.url))

export interface ProviderOptions {
  /** 0 takes any free port. */
  readonly port: number
  readonly host?: string
  /** Enables TLS: files with a private key and a certificate, as PEM. */
  readonly tls?: { readonly keyFile: string; readonly certFile: string }
  /** Served lines are appended to this file as well. */
  readonly logFile?: string
  /** Called with each line of the log as it is written down. */
  readonly onServed?: (served: Served) => void
}

export interface Provider {
  readonly port: number
  readonly log: ServedLog
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
  const app = newApp(options.tls) as TemplatedApp & { close(): void }
  addRoutes(app, log, wheel)
  return new Promise((resolve, reject) => {
    app.listen(host, options.port, (socket) => {
      if (socket === false) return reject(new Error(`the mock provider cannot listen on ${host}:${options.port}`))
      const stop = () => {
        wheel.stop()
        app.close()
        log.close()
      }

      resolve({ port: uws.us_socket_local_port(socket), log, stop })
    })
  })
}

function newApp(tls: ProviderOptions['tls']): TemplatedApp {
  return tls === undefined ? uws.App() : uws.SSLApp({ key_file_name: tls.keyFile, cert_file_name: tls.certFile })
}

/** How a request is answered that no fault was asked for. */
type Answer = (exchange: Exchange, behaviour: Behaviour, request: ChatBody, wheel: TimerWheel) => void

function addRoutes(app: TemplatedApp, log: ServedLog, wheel: TimerWheel): void {
  const failures = new Map<string, number>()
  const videos = new MockVideos(log, wheel, failures)
  const post = (path: string, kind: Kind, answer: Answer) =>
    app.post(path, (res, req) => {
      const head = readHead(req)
      const exchange = new Exchange(res, log, head.requestId)
      readBody(res, (text) => {
        if (exchange.ended) return
        const request = text === undefined ? 'The body is too large.' : parseChat(text, kind)
        res.cork(() => {
          if (typeof request === 'string') return answerError(exchange, 400, undefined, request)
          exchange.accept(request, head, path)
          serve(exchange, wheel, failures, answer)
        })
      })
    })
  post('/v1/chat/completions', 'chat', answerChat)
  post('/v1/completions', 'text', answerChat)
  post('/v1/messages', 'messages', answerChat)
  post('/v1/messages/count_tokens', 'messages', answerCount)
  addMediaRoutes(app, log, wheel, failures)
  videos.addRoutes(app)
  const batches = new MockBatches(failures)
  batches.addRoutes(app)
  const attestation = new MockAttestation()
  attestation.addRoutes(app)
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
  // Between the two, all delayed answers are paused.
  for (const [path, held] of Object.entries({ '/_hold': true, '/_release': false })) {
    app.post(path, (res) => {
      wheel.held = held
      sendJson(res, '{}')
    })
  }
  app.post('/_reset', (res) => {
    wheel.held = false
    log.reset()
    failures.clear()
    videos.reset()
    batches.reset()
    attestation.reset()
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
function serve(exchange: Exchange, wheel: TimerWheel, failures: Map<string, number>, answer: Answer): void {
  const { request } = exchange
  if (request === undefined) return
  let behaviour: Behaviour
  try {
    behaviour = behaviourFor(request)
  } catch (error) {
    return answerError(exchange, 404, undefined, error instanceof Error ? error.message : String(error))
  }
  if (!answerFailure(exchange, behaviour, wheel, failures)) answer(exchange, behaviour, request, wheel)
}

function answerChat(exchange: Exchange, behaviour: Behaviour, request: ChatBody, wheel: TimerWheel): void {
  if (request.stream) new Stream(exchange, behaviour, request, wheel).start()
  else answerWhole(exchange, behaviour, request, wheel)
}

function answerCount(exchange: Exchange, behaviour: Behaviour, request: ChatBody, wheel: TimerWheel): void {
  if (behaviour.nocount) return answerError(exchange, 404, behaviour)
  const tokens = behaviour.integers.prompt ?? request.promptTokens
  later(exchange, behaviour, wheel, () => {
    exchange.res.writeHeader('content-type', 'application/json')
    exchange.sent(200, 0, 0, null)
    exchange.end('complete', JSON.stringify({ input_tokens: tokens }))
  })
}

function behaviourFor({ model, body }: ChatBody): Behaviour {
  const behaviour = behaviourOf(model)
  if (!behaviour.round) return behaviour
  const answered = /"type":"tool_result"|"role":"tool"/.test(JSON.stringify(body['messages']))
  return behaviourOf(model.replace(',round', answered ? '' : ',tool'))
}
