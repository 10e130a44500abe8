// Goal: over TLS the gateway's own HTTP client trusts nobody without a proof, loses and mixes up no byte whatever the
// records and pauses, and takes a connection that was cut for what it is. Method: a server in this process plays answers.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { createSecureContext, type TLSSocket } from 'node:tls'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { makeCertificate, newCertificate } from '../../../mock/certificate.ts'
import { SocketTransport } from '../../../proxy/upstream/socketTransport.ts'
import { HeaderBlock } from '../../../proxy/upstream/transport/headerBlock.ts'
import type { TransportFailure, UpstreamCall } from '../../../proxy/upstream/transport/transport.ts'
import { limits, limitsWith } from '../../support/limits.ts'
import { type Play, TlsServer } from '../../support/providers/tlsServer.ts'

const HOST = 'localhost'
const DAY_MS = 86_400_000
const OK = 'HTTP/1.1 200 OK\r\n'
const WHOLE = `${OK}content-length: 2\r\n\r\nok`

const certificate = newCertificate(HOST)
const context = createSecureContext({ ca: certificate.cert })
const transport = new SocketTransport(limits, context)
let play: Play = (socket) => socket.write(WHOLE)
const server = new TlsServer(certificate, (socket, path, raw) => play(socket, path, raw))

before(() => server.listen())
after(async () => {
  await transport.close()
  await server.close()
})

interface Heard {
  readonly body: Buffer
  /** The lengths of what the listener was handed. */
  readonly parts: readonly number[]
  /** Undefined when the answer has ended as it should. */
  readonly failure: TransportFailure | undefined
}

interface Asking {
  readonly from?: SocketTransport
  readonly port?: number
  readonly path?: string
  readonly fresh?: boolean
  readonly onPart?: (call: UpstreamCall, part: number) => void
}

function ask({ from = transport, port = server.port, path = '/', fresh = false, onPart }: Asking = {}): Promise<Heard> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    const heard = (failure?: TransportFailure) =>
      resolve({ body: Buffer.concat(parts), parts: parts.map(({ length }) => length), failure })
    const times = {
      connectTimeoutMs: 20_000,
      firstByteTimeoutMs: 20_000,
      idleTimeoutMs: 20_000,
      totalTimeoutMs: 60_000,
    }
    const origin = `https://${HOST}:${port}`
    const headers = new HeaderBlock(['authorization', 'Bearer secret'])
    const request = {
      host: `${HOST}:${port}`,
      path,
      method: 'GET' as const,
      headers,
      requestId: 'req_test',
      body: null,
    }
    const call = from.send(
      { origin, ...request, fresh, ...times },
      {
        onHead: () => undefined,
        onData: (bytes) => {
          parts.push(Buffer.from(bytes))
          onPart?.(call, parts.length)
        },
        onEnd: () => heard(),
        onFailure: heard,
      },
    )
  })
}

const text = ({ body, failure }: Heard) => [failure?.kind, body.toString('latin1')]

const AROUND_NOW = { fromMs: -DAY_MS, toMs: DAY_MS }
const REFUSED = [
  { title: 'another host', host: 'elsewhere.example', ...AROUND_NOW, trusted: true, fault: /altnames/ },
  { title: 'a time that is over', host: HOST, fromMs: -2 * DAY_MS, toMs: -DAY_MS, trusted: true, fault: /expired/ },
  { title: 'a time to come', host: HOST, fromMs: DAY_MS, toMs: 2 * DAY_MS, trusted: true, fault: /not yet valid/ },
  { title: 'the host, by somebody unknown', host: HOST, ...AROUND_NOW, trusted: false, fault: /self-signed/ },
]

for (const { title, host, fromMs, toMs, trusted, fault } of REFUSED) {
  test(`a certificate for ${title} is rejected before a byte of the request is sent`, async () => {
    const nowMs = Date.now()
    const shown = makeCertificate({ host, validFrom: new Date(nowMs + fromMs), validTo: new Date(nowMs + toMs) })
    const ca = trusted ? shown.cert : certificate.cert
    const strict = new SocketTransport(limits, createSecureContext({ ca }))
    const other = new TlsServer(shown, (socket) => socket.write(WHOLE))
    await other.listen()
    // What switches the checks off in Node.js must not switch them off here.
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      const { failure } = await ask({ from: strict, port: other.port })
      assert.equal(failure?.kind, 'connect')
      assert.match(String(failure?.cause), fault)
      assert.equal(other.received, '')
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
      await strict.close()
      await other.close()
    }
  })
}

test('a new connection resumes the session of an earlier one', async () => {
  play = (socket) => socket.write(WHOLE)
  for (let i = 0; i < 4; i++) assert.deepEqual(text(await ask({ fresh: true })), [undefined, 'ok'])
  assert.deepEqual(server.resumed.slice(-3), [true, true, true])
})

test('a session that is too old or too large is not resumed', async () => {
  for (const change of [{ tlsSessionAgeMs: 0 }, { tlsSessionBytesMax: 10 }]) {
    const careful = new SocketTransport(limitsWith(change), context)
    for (let i = 0; i < 3; i++) await ask({ from: careful, fresh: true })
    await careful.close()
    assert.deepEqual(server.resumed.slice(-3), [false, false, false])
  }
})

test('a session is not resumed at another port of the same host, which may be another server', async () => {
  const other = new TlsServer(newCertificate(HOST), (socket) => socket.write(WHOLE))
  await other.listen()
  await ask({ fresh: true })
  const { failure } = await ask({ port: other.port })
  await other.close()
  assert.equal(failure?.kind, 'connect')
})

// A server in a thread of its own, which answers while this one stands still.
const THREAD = `
  const { createServer } = require('node:tls')
  const { parentPort, workerData } = require('node:worker_threads')
  const server = createServer(workerData, (socket) => socket.on('data', () => socket.write(workerData.answer)))
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
  let handshakes = 0
  server.on('secureConnection', () => handshakes++)
  parentPort.on('message', () => parentPort.postMessage(handshakes))
`
const STANDSTILL_MS = 20

test('connections are kept alive when the response arrives before Node.js reports the request as sent', async () => {
  const thread = new Worker(THREAD, { eval: true, workerData: { ...certificate, answer: WHOLE } })
  const [port] = (await once(thread, 'message')) as [number]
  const own = new SocketTransport(limits, context)
  for (let round = 0; round < 10; round++) {
    // Between immediates and sockets of the next turn nothing is said to have left.
    const asked = await new Promise<Promise<Heard>[]>((resolve) => {
      setImmediate(() => {
        const all = Array.from({ length: 4 }, () => ask({ from: own, port }))
        process.nextTick(() => {
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STANDSTILL_MS)
          resolve(all)
        })
      })
    })
    for (const heard of await Promise.all(asked)) assert.deepEqual(text(heard), [undefined, 'ok'])
  }
  thread.postMessage('how many?')
  const [handshakes] = await once(thread, 'message')
  await Promise.all([own.close(), thread.terminate()])
  assert.equal(handshakes, 4)
})

test('many records of a provider are delivered in few pieces', async () => {
  play = (socket) => {
    socket.write(`${OK}content-length: 10000\r\n\r\n`)
    for (let i = 0; i < 100; i++) socket.write('x'.repeat(100))
  }
  const heard = await ask()
  assert.equal(heard.body.length, 10_000)
  assert.ok(heard.parts.length < 20, `${heard.parts.length} pieces`)
})

test('no data is delivered during a pause, and none is lost', async () => {
  const body = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => i % 251))
  play = (socket) => {
    socket.write(`${OK}content-length: ${body.length}\r\n\r\n`)
    socket.write(body)
  }
  let paused = false
  let during = 0
  const heard = await ask({
    onPart: (call, part) => {
      if (paused) during++
      if (part % 3 !== 0) return
      paused = true
      call.pause()
      setImmediate(() =>
        setImmediate(() => {
          paused = false
          call.resume()
        }),
      )
    },
  })
  assert.deepEqual([heard.failure, during], [undefined, 0])
  assert.ok(heard.body.equals(body))
})

test('a response that ends while its reader is paused is delivered to its end', async () => {
  play = (socket) => {
    for (const part of [`${OK}\r\n`, 'a'.repeat(70_000), 'b'.repeat(70_000)]) socket.write(part)
    socket.end()
  }
  const heard = await ask({
    onPart: (call) => {
      call.pause()
      setTimeout(() => call.resume(), 5)
    },
  })
  assert.deepEqual(text(heard), [undefined, 'a'.repeat(70_000) + 'b'.repeat(70_000)])
})

test('responses are delivered whole for any split into records and any pauses of the reader', async () => {
  const pieces = fc.array(fc.integer({ min: 1, max: 40_000 }), { minLength: 1, maxLength: 8 })
  const framing = fc.constantFrom('length', 'chunked', 'close')
  await fc.assert(
    fc.asyncProperty(pieces, framing, fc.array(fc.boolean()), fc.boolean(), async (lengths, frame, pauses, apart) => {
      const body = lengths.map((length, i) => String.fromCharCode(97 + i).repeat(length))
      play = (socket) => void playPieces(socket, frame, body, apart)
      const heard = await ask({
        onPart: (call, part) => {
          if (pauses[part - 1] !== true) return
          call.pause()
          setImmediate(() => call.resume())
        },
      })
      assert.deepEqual(text(heard), [undefined, body.join('')])
    }),
    { numRuns: 100 },
  )
})

async function playPieces(
  socket: TLSSocket,
  framing: string,
  pieces: readonly string[],
  apart: boolean,
): Promise<void> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const headers = { length: `content-length: ${length}\r\n`, chunked: 'transfer-encoding: chunked\r\n', close: '' }
  socket.write(`${OK}${headers[framing as keyof typeof headers]}\r\n`)
  for (const piece of pieces) {
    if (apart) await new Promise((resolve) => setImmediate(resolve))
    socket.write(framing === 'chunked' ? `${piece.length.toString(16)}\r\n${piece}\r\n` : piece)
  }
  if (framing === 'chunked') socket.write('0\r\n\r\n')
  if (framing === 'close') socket.end()
}

test('bytes after a response never reach the next request', async () => {
  for (let i = 0; i < 30; i++) {
    play = (socket) => {
      socket.write(`${OK}content-length: 8\r\n\r\nanswer${10 + i}`)
      if (i % 2 === 0) socket.write(`${OK}content-length: 6\r\n\r\nsecret`)
    }
    assert.deepEqual(text(await ask()), [undefined, `answer${10 + i}`])
  }
})

const CUTS: readonly [string, (raw: Socket) => void][] = [
  ['closed', (raw) => raw.end()],
  ['reset', (raw) => raw.resetAndDestroy()],
]
for (const [name, cut] of CUTS) {
  test(`a connection that is ${name} below TLS during a response interrupts the response`, async () => {
    for (const header of ['transfer-encoding: chunked', 'content-length: 100']) {
      play = (socket, _path, raw) => {
        socket.write(`${OK}${header}\r\n\r\n5\r\nhello\r\n`, () => setImmediate(() => cut(raw)))
      }
      const { failure, body } = await ask()
      assert.equal(failure?.kind, 'reset', header)
      // A reset may overtake what was on its way.
      assert.ok(name === 'reset' || body.length > 0, header)
    }
  })
}
