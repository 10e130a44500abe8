// Goal: a request body in pieces reaches the provider as one, over both transports, without being put together first.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { SocketTransport } from '../../../proxy/upstream/socketTransport.ts'
import { HeaderBlock } from '../../../proxy/upstream/transport/headerBlock.ts'
import type { Transport, TransportFailure, UpstreamRequest } from '../../../proxy/upstream/transport/transport.ts'
import { UndiciTransport } from '../../../proxy/upstream/undiciTransport.ts'
import { limits } from '../../support/limits.ts'
import { memoryInUse } from '../../support/parts/server.ts'
import { memberOf } from '../../support/present.ts'

const MIB = 1_048_576
const TRANSPORTS: Record<string, Transport> = {
  sockets: new SocketTransport(limits),
  undici: new UndiciTransport(limits),
}

let server: Server
let origin = ''
let connections = 0

before(async () => {
  server = createServer((request, response) => {
    if (request.url === '/early') {
      response.writeHead(413, { 'content-length': '0' }).end()
      return
    }
    const hash = createHash('sha256')
    let bytes = 0
    request.on('data', (part: Buffer) => {
      bytes += part.length
      hash.update(part)
    })
    request.on('end', () => response.end(`${request.headers['content-length']} ${bytes} ${hash.digest('hex')}`))
  })
  // Server and transport share this process, which is busy for seconds with a large file: the server would close its end.
  server.keepAliveTimeout = 0
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
after(async () => {
  await Promise.all(Object.values(TRANSPORTS).map((transport) => transport.close()))
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

function send(transport: Transport, path: string, body: UpstreamRequest['body']): Promise<string> {
  const request: UpstreamRequest = {
    origin,
    host: new URL(origin).host,
    path,
    method: 'POST',
    headers: new HeaderBlock(['content-type', 'x/y']),
    requestId: 'req_test',
    body,
    fresh: false,
    connectTimeoutMs: 60_000,
    firstByteTimeoutMs: 60_000,
    idleTimeoutMs: 60_000,
    totalTimeoutMs: 60_000,
  }
  return new Promise((resolve, reject) => {
    let text = ''
    transport.send(request, {
      onHead: (status) => {
        text = `${status} `
      },
      onData: (bytes) => {
        text += bytes.toString()
      },
      onEnd: () => resolve(text),
      onFailure: (failure: TransportFailure) => reject(failure),
    })
  })
}

for (const [name, transport] of Object.entries(TRANSPORTS)) {
  test(`${name}: pieces arrive as one body of known length, and the connection is reused`, async () => {
    const before = connections
    for (const sizes of [[0], [1], [10, 0, 20], [MIB, 5, 3 * MIB], [70_000, 70_000]]) {
      const pieces = sizes.map((size) => randomBytes(size))
      const whole = Buffer.concat(pieces)
      const expected = `200 ${whole.length} ${whole.length} ${createHash('sha256').update(whole).digest('hex')}`
      assert.equal(await send(transport, '/whole', pieces), expected)
      assert.equal(await send(transport, '/whole', whole), expected)
    }
    assert.ok(connections - before <= 2, `${connections - before} connections`)
  })

  test(`${name}: a response sent before the whole request was read is delivered`, async () => {
    const outcome = await send(transport, '/early', [randomBytes(100), randomBytes(8 * MIB)]).catch(
      (failure: TransportFailure) => failure.kind,
    )
    assert.ok(outcome === '413 ' || outcome === 'reset', outcome)
    assert.match(await send(transport, '/whole', [Buffer.from('abc')]), /^200 3 3 /)
  })
}

test('a large file is sent without a second copy', async () => {
  const file = randomBytes(64 * MIB)
  // The least of a few: what the collector has not freed yet is not meant, and a second copy would be made each time.
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < 4 && least >= 48 * MIB; i++) {
    const before = await memoryInUse()
    let most = 0
    const watch = setInterval(() => {
      const { heapUsed, arrayBuffers } = process.memoryUsage()
      most = Math.max(most, heapUsed + arrayBuffers - before)
    }, 5)
    await send(memberOf(TRANSPORTS, 'sockets'), '/whole', [Buffer.from('head'), file, Buffer.from('tail')])
    clearInterval(watch)
    least = Math.min(least, most)
  }
  // What the receiving server of this same process holds of it counts, too.
  assert.ok(least < 48 * MIB, `${least} bytes beside the file`)
})
