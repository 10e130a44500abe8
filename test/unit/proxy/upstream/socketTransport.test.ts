import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { SocketTransport } from '../../../../proxy/upstream/socketTransport.ts'
import { HeaderBlock } from '../../../../proxy/upstream/transport/headerBlock.ts'
import type {
  Transport,
  TransportFailure,
  UpstreamCall,
  UpstreamRequest,
} from '../../../../proxy/upstream/transport/transport.ts'
import { UndiciTransport } from '../../../../proxy/upstream/undiciTransport.ts'
import { limits } from '../../../support/limits.ts'
import { itemOf } from '../../../support/present.ts'

const FAR_MS = 60_000

function requestTo(port: number, times: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return {
    origin: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    path: '/',
    method: 'GET',
    headers: new HeaderBlock([]),
    requestId: 'req_test',
    body: null,
    fresh: false,
    connectTimeoutMs: FAR_MS,
    firstByteTimeoutMs: FAR_MS,
    idleTimeoutMs: FAR_MS,
    totalTimeoutMs: FAR_MS,
    ...times,
  }
}

test('the deadlines of a request are checked from its beginning on, however long there was none before', async (t) => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] })
  const transport = new SocketTransport(limits)
  t.after(async () => {
    await transport.close()
    server.close()
  })
  for (const idleMs of [0, 10, 2_000, 5_400]) {
    for (let at = 0; at < idleMs; at++) t.mock.timers.tick(1)
    const failures: TransportFailure[] = []
    transport.send(requestTo(port, { connectTimeoutMs: 0, firstByteTimeoutMs: 0, idleTimeoutMs: 0, fresh: true }), {
      onHead: () => assert.fail(),
      onData: () => assert.fail(),
      onEnd: () => assert.fail(),
      onFailure: (failure) => failures.push(failure),
    })
    for (let at = 0; at < 50; at++) t.mock.timers.tick(1)
    assert.deepEqual(
      failures.map(({ kind }) => kind),
      ['connect_timeout'],
      `after ${idleMs} ms`,
    )
  }
})

/** A server whose answers have one piece and then as many as the test wants. */
async function streamer(t: TestContext): Promise<{ readonly port: number; readonly sockets: Socket[] }> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, sockets }
}

/** Sends a request, and waits for the first piece of its answer. */
async function begun(transport: Transport, port: number): Promise<{ call: UpstreamCall; ended: Promise<unknown> }> {
  const events = new EventEmitter()
  const ended = once(events, 'end')
  const call = transport.send(requestTo(port), {
    onHead: () => undefined,
    onData: () => void events.emit('data'),
    onEnd: () => void events.emit('end'),
    onFailure: (failure) => assert.fail(failure),
  })
  await once(events, 'data')
  return { call, ended }
}

for (const [what, open, isPaused] of [
  ['an answer that was let go', () => new SocketTransport(limits), false],
  ['an answer that was let go while paused', () => new SocketTransport(limits), true],
  ['an answer over undici that was let go', () => new UndiciTransport(limits), false],
] as const) {
  test(`${what} is given up if it goes on`, async (t) => {
    const { port, sockets } = await streamer(t)
    const transport = open()
    t.after(() => transport.close())
    const { call } = await begun(transport, port)
    const socket = itemOf(sockets, 0)
    const pieces = setInterval(() => socket.write('1\r\na\r\n'), 5)
    t.after(() => clearInterval(pieces))
    if (isPaused) call.pause()
    call.letGo(30)
    await new Promise((resolve) => socket.once('close', resolve))
  })
}

for (const isPaused of [false, true]) {
  test(`the connection of one that ${isPaused ? 'was paused and ' : ''}ends in time serves the next request`, async (t) => {
    const { port, sockets } = await streamer(t)
    const transport = new SocketTransport(limits)
    t.after(() => transport.close())
    const { call, ended } = await begun(transport, port)
    if (isPaused) call.pause()
    call.letGo(FAR_MS)
    itemOf(sockets, 0).write('0\r\n\r\n')
    await ended
    await begun(transport, port)
    assert.equal(sockets.length, 1)
  })
}
