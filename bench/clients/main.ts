// The CPU time that the gateway's own HTTP/1.1 client and undici take for a small request and for a streamed chunk, with and
// without TLS, by turns within seconds of each other; then many slow streams: own client and undici by HTTP/1.1, a connection
// for each stream, and undici by HTTP/2, one connection for all. The client is this process, the servers are others. Every client
// first has an answer read in full and compared.
// node dist/bench/clients/main.js [rounds] [requests of a turn, 0 for the slow streams alone] [slow streams]
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSecureContext, type SecureContext } from 'node:tls'
import { Client, type Dispatcher } from 'undici'
import type { Reach } from '../../contract/providers/reach.ts'
import { newCertificate } from '../../mock/certificate.ts'
import { readLimits } from '../../proxy/limits.ts'
import { SocketTransport } from '../../proxy/upstream/socketTransport.ts'
import { UndiciTransport } from '../../proxy/upstream/undiciTransport.ts'
import { startChild } from '../child.ts'
import { untilStopped } from '../stopping.ts'
import { PROVIDER_HOST, startProviders } from '../targets/provider.ts'
import { type Ask, askBy, type Cost, costOf, median } from './asked.ts'

const ROUNDS = Number(process.argv[2] ?? 7)
const REQUESTS = Number(process.argv[3] ?? 4_000)
const SLOW_STREAMS = Number(process.argv[4] ?? 200)
const PARALLEL = 16
const CHUNKS = 100
const SLOW_CHUNKS = 50
const FEW_CHUNKS = 10
const SLOW_DELAY_MS = 50

const LIMITS = readLimits(undefined)
type Stops = (() => Promise<void>)[]

/** Each answer of the mock differs in ids alone; a stream has to have all of its events. */
interface Kind {
  readonly title: string
  readonly model: string
  readonly stream: boolean
  readonly requests: number
  readonly events: number
}
const stream = (title: string, chunks: number, more = ''): Kind => ({
  title,
  model: `mock,chunks=${chunks}${more}`,
  stream: true,
  requests: Math.ceil(REQUESTS / 4),
  events: chunks,
})
const KINDS: readonly Kind[] = [
  { title: 'small answer', model: 'mock,chunks=8', stream: false, requests: REQUESTS, events: 0 },
  stream(`stream of ${FEW_CHUNKS} chunks, each written by itself`, FEW_CHUNKS, ',flush'),
  stream(`stream of ${CHUNKS} chunks, each written by itself`, CHUNKS, ',flush'),
  stream(`stream of ${CHUNKS} chunks`, CHUNKS),
]

function bodyOf({ model, stream: isStreamed }: Kind): string {
  return JSON.stringify({ model, stream: isStreamed, messages: [{ role: 'user', content: 'hello' }] })
}

/** Reads an answer of each client in full and compares. @returns its length in bytes */
async function checked(clients: ReadonlyMap<string, Ask>, events: number): Promise<number> {
  const answers = await Promise.all([...clients.values()].map((ask) => ask(true)))
  const [first] = answers
  assert.ok(first !== undefined && first.bytes > 0)
  for (const { text, bytes } of answers) {
    assert.equal(bytes, first.bytes)
    if (events === 0) assert.ok(JSON.parse(text).usage.completion_tokens > 0)
    else assert.ok(text.split('\n\n').filter((event) => event.includes('"content"')).length >= events)
  }
  return first.bytes
}

/** The turns of a measurement: events of a stream, requests of a turn, and how many of them at a time. */
interface Turns {
  readonly events: number
  readonly requests: number
  readonly parallel: number
}

/** Measures the clients by turns. */
async function byTurns(
  clients: ReadonlyMap<string, Ask>,
  { events, requests, parallel }: Turns,
): Promise<ReadonlyMap<string, Cost>> {
  const bytes = await checked(clients, events)
  const costs = new Map([...clients.keys()].map((name) => [name, [] as Cost[]]))
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, ask] of clients) {
      const cost = await costOf(ask, requests, parallel, bytes)
      // The first round warms up.
      if (round > 0) costs.get(name)?.push(cost)
    }
  }
  return new Map(
    [...costs].map(([name, all]) => [
      name,
      {
        microsPerRequest: median(all.map(({ microsPerRequest }) => microsPerRequest)),
        readsPerRequest: median(all.map(({ readsPerRequest }) => readsPerRequest)),
      },
    ]),
  )
}

function say(title: string, costs: ReadonlyMap<string, Cost>): void {
  const own = costs.get('sockets')?.microsPerRequest ?? Number.NaN
  for (const [name, { microsPerRequest, readsPerRequest }] of costs) {
    const ratio = (microsPerRequest / own).toFixed(2)
    console.log(
      `${title.padEnd(58)} ${name.padEnd(14)} ${microsPerRequest.toFixed(1).padStart(9)} us a request, ${ratio} of sockets, ${readsPerRequest.toFixed(1)} reads`,
    )
  }
}

async function measureKinds(stops: Stops): Promise<void> {
  const { providerPort, providerTlsPort, providerCertFile } = await startProviders(stops)
  const context = createSecureContext({ ca: readFileSync(providerCertFile) })
  const [sockets, undici] = [new SocketTransport(LIMITS), new UndiciTransport(LIMITS)]
  stops.push(
    () => sockets.close(),
    () => undici.close(),
  )
  for (const [origin, reach, name] of [
    [`http://127.0.0.1:${providerPort}`, undefined, 'plain'],
    [`https://${PROVIDER_HOST}:${providerTlsPort}`, { name: 'bench', context }, 'TLS'],
  ] as const) {
    const perFlushed = new Map<string, number>()
    for (const kind of KINDS) {
      const body = bodyOf(kind)
      const clients = new Map([
        ['sockets', askBy(sockets, origin, reach, body)],
        ['undici', askBy(undici, origin, reach, body)],
      ])
      const costs = await byTurns(clients, { ...kind, parallel: PARALLEL })
      say(`${name}: ${kind.title}`, costs)
      if (!kind.model.endsWith(',flush')) continue
      for (const [client, { microsPerRequest }] of costs) {
        const few = perFlushed.get(client)
        if (few === undefined) perFlushed.set(client, microsPerRequest)
        else
          console.log(
            `${name}: a chunk by ${client}: ${((microsPerRequest - few) / (CHUNKS - FEW_CHUNKS)).toFixed(2)} us`,
          )
      }
    }
  }
}

async function measureSlow(stops: Stops): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-slow-'))
  stops.push(async () => rmSync(folder, { recursive: true, force: true }))
  const { key, cert } = newCertificate(PROVIDER_HOST)
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  writeFileSync(keyFile, key, { mode: 0o600 })
  writeFileSync(certFile, cert)
  const args = ['--key', keyFile, '--cert', certFile, '--chunks', String(SLOW_CHUNKS), '--delay', String(SLOW_DELAY_MS)]
  const server = await startChild('clients/slowServer.js', args)
  stops.push(() => server.stop())
  const origin = `https://${PROVIDER_HOST}:${server.ready['port']}`
  const context = createSecureContext({ ca: cert })
  const reach: Reach = { name: 'slow', context }
  const [sockets, undici] = [new SocketTransport(LIMITS), new UndiciTransport(LIMITS)]
  const client = http2Client(origin, context)
  stops.push(
    () => sockets.close(),
    () => undici.close(),
    () => client.destroy(),
  )
  const clients = new Map([
    ['sockets', askBy(sockets, origin, reach, '{}')],
    ['undici', askBy(undici, origin, reach, '{}')],
    ['undici HTTP/2', askByHttp2(client)],
  ])
  say(
    `${SLOW_STREAMS} streams of ${SLOW_CHUNKS} chunks, one every ${SLOW_DELAY_MS} ms`,
    await byTurns(clients, { events: SLOW_CHUNKS, requests: SLOW_STREAMS, parallel: SLOW_STREAMS }),
  )
}

function http2Client(origin: string, secureContext: SecureContext): Client {
  return new Client(origin, {
    allowH2: true,
    maxConcurrentStreams: SLOW_STREAMS,
    pipelining: SLOW_STREAMS,
    connect: { secureContext },
  })
}

function askByHttp2(client: Client): Ask {
  return (keepText) =>
    new Promise((resolve, reject) => {
      let [bytes, reads, text] = [0, 0, '']
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, status) => {
          if (status !== 200) reject(new Error(`status ${status}`))
        },
        onResponseData: (_controller, part) => {
          bytes += part.length
          reads++
          if (keepText) text += part.toString('utf8')
        },
        onResponseEnd: () => resolve({ bytes, reads, text }),
        onResponseError: (_controller, error) => reject(error),
      }
      const headers = ['content-type', 'application/json', 'authorization', 'Bearer bench']
      // undici sends one POST at a time over a connection of HTTP/2, and waits for its end, unless it may be sent twice.
      const idempotent = true
      client.dispatch({ path: '/v1/chat/completions', method: 'POST', headers, body: '{}', idempotent }, handler)
    })
}

await untilStopped(async (stops) => {
  if (REQUESTS > 0) await measureKinds(stops)
  await measureSlow(stops)
})
