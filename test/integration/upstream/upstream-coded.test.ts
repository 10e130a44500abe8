// Goal: a body in a content coding that nobody asked for is read as it comes, in bounded memory, over both transports.
// Method: a server sends bodies in every coding, whole, cut, corrupt and followed by other bytes.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createDeflateRaw,
  createGzip,
  deflateRawSync,
  deflateSync,
  gzipSync,
} from 'node:zlib'
import { callWhole, type WholeReply } from '../../../proxy/upstream/callWhole.ts'
import { SocketTransport } from '../../../proxy/upstream/socketTransport.ts'
import { HeaderBlock } from '../../../proxy/upstream/transport/headerBlock.ts'
import type {
  Transport,
  TransportFailure,
  UpstreamCall,
  UpstreamListener,
  UpstreamRequest,
} from '../../../proxy/upstream/transport/transport.ts'
import { UndiciTransport } from '../../../proxy/upstream/undiciTransport.ts'
import { limits } from '../../support/limits.ts'
import { memoryInUse } from '../../support/parts/server.ts'
import { until } from '../../support/stack.ts'

const MIB = 1_048_576
const BIG = 4 * MIB
const TRANSPORTS: Record<string, Transport> = {
  sockets: new SocketTransport(limits),
  undici: new UndiciTransport(limits),
}
const FLUSH = { flush: constants.Z_SYNC_FLUSH }
const CODINGS = {
  gzip: { header: 'gzip', pack: gzipSync, stream: () => createGzip(FLUSH) },
  'x-gzip': { header: 'X-GZIP', pack: gzipSync, stream: () => createGzip(FLUSH) },
  deflate: { header: 'deflate', pack: deflateSync, stream: () => createDeflate(FLUSH) },
  'raw deflate': { header: 'identity, deflate', pack: deflateRawSync, stream: () => createDeflateRaw(FLUSH) },
  br: {
    header: 'br',
    // The best quality takes seconds for what is large.
    pack: (body: Buffer) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
    stream: () => createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
  },
} as const

type Answer = (response: ServerResponse) => unknown

let server: Server
let origin = ''
let answer: Answer = () => undefined

before(async () => {
  server = createServer((request, response) => {
    request.resume()
    response.on('error', () => undefined)
    answer(response)
  })
  // Server and transport share this process, which packs and unpacks for seconds: the server would close its end.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
after(async () => {
  await Promise.all(Object.values(TRANSPORTS).map((transport) => transport.close()))
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

function asked(): UpstreamRequest {
  return {
    origin,
    host: new URL(origin).host,
    path: '/',
    method: 'GET',
    headers: new HeaderBlock([]),
    requestId: 'req_test',
    body: null,
    fresh: false,
    connectTimeoutMs: 60_000,
    firstByteTimeoutMs: 60_000,
    idleTimeoutMs: 60_000,
    totalTimeoutMs: 60_000,
  }
}

const read = (transport: Transport, play: Answer, bytesMax = 64 * MIB): Promise<WholeReply> => {
  answer = play
  return callWhole(transport, asked(), bytesMax)
}

const kindOf = (reading: Promise<unknown>): Promise<string> =>
  reading.then(
    () => 'whole',
    (failure: TransportFailure) => failure.kind,
  )

/** Sends a body in pieces, each in a chunk of its own. */
function inPieces(coding: string, body: Buffer, size: number): Answer {
  return (response) => {
    response.writeHead(200, { 'content-encoding': coding })
    for (let at = 0; at < body.length; at += size) response.write(body.subarray(at, at + size))
    response.end()
  }
}

const TEXT = Buffer.from(JSON.stringify({ some: 'text ünd more '.repeat(5_000), numbers: [...Array(5_000).keys()] }))

for (const [name, transport] of Object.entries(TRANSPORTS)) {
  for (const header of ['identity', 'none', 'utf-8', 'UTF8, identity', '']) {
    test(`${name}: "${header}" is no coding`, async () => {
      assert.ok((await read(transport, inPieces(header, TEXT, 1_000))).body.equals(TEXT))
    })
  }

  for (const [coding, { header, pack, stream }] of Object.entries(CODINGS)) {
    test(`${name}: ${coding} is read whole, in pieces, and empty`, async () => {
      const packed = pack(TEXT)
      for (const size of [1_000_000, 1_000, 7]) {
        const reply = await read(transport, inPieces(header, packed, size))
        assert.ok(reply.body.equals(TEXT), `pieces of ${size}: ${reply.body.length} bytes`)
      }
      const reply = await read(transport, (response) => {
        response.writeHead(503, { 'content-encoding': header, 'content-length': packed.length }).end(packed)
      })
      assert.deepEqual([reply.status, reply.body.equals(TEXT)], [503, true])
      assert.equal((await read(transport, inPieces(header, Buffer.alloc(0), 1))).body.length, 0)
    })

    test(`${name}: ${coding} that is cut, corrupt or followed by other bytes fails`, async () => {
      const packed = pack(TEXT)
      const wrong: Record<string, Buffer> = {
        cut: packed.subarray(0, packed.length - 12),
        corrupt: Buffer.concat([packed.subarray(0, 40), Buffer.alloc(40, 0x77), packed.subarray(80)]),
        text: Buffer.from('{"a":1}'),
        followed: Buffer.concat([packed, Buffer.from('more')]),
      }
      for (const [what, body] of Object.entries(wrong)) {
        for (const size of [1_000_000, 100]) {
          const kind = await kindOf(read(transport, inPieces(header, body, size)))
          assert.equal(kind, 'malformed', `${what} in pieces of ${size}`)
        }
      }
    })

    test(`${name}: events in ${coding} arrive when they are sent, and those before a cut arrive before it`, async () => {
      const heard: string[] = []
      const packer = stream()
      const sent = new Promise<ServerResponse>((resolve) => {
        answer = (response) => {
          response.writeHead(200, { 'content-encoding': header })
          packer.pipe(response)
          packer.write('data: first\n\n')
          resolve(response)
        }
      })
      const ended = new Promise<string>((resolve) => {
        transport.send(asked(), {
          onHead: () => undefined,
          onData: (bytes) => heard.push(bytes.toString()),
          onEnd: () => resolve('end'),
          onFailure: ({ kind }) => resolve(kind),
        })
      })
      await until('the first event is there', () => heard.join('') === 'data: first\n\n')
      packer.write('data: second\n\n')
      const response = await sent
      await until('the second event has left', () => packer.writableLength === 0 && response.writableLength === 0)
      response.socket?.end()
      assert.equal(await ended, 'reset')
      assert.equal(heard.join(''), 'data: first\n\ndata: second\n\n')
    })

    test(`${name}: the decompressed size of ${coding} is bounded by the reader`, async () => {
      const bomb = pack(Buffer.alloc(64 * MIB))
      const before = await memoryInUse()
      assert.equal(await kindOf(read(transport, inPieces(header, bomb, 65_536), MIB)), 'malformed')
      const used = (await memoryInUse()) - before
      assert.ok(used < 16 * MIB, `${used} bytes`)
    })
  }

  test(`${name}: consecutive gzip members are one body`, async () => {
    const members = Buffer.concat([gzipSync('one'), gzipSync('two')])
    assert.equal((await read(transport, inPieces('gzip', members, 1_000))).body.toString(), 'onetwo')
  })

  test(`${name}: an unknown coding, or several, leave the body unchanged and marked as unreadable`, async () => {
    for (const coding of ['zstd', 'compress', 'gzip, br', 'constructor']) {
      const { headers, body } = await read(transport, inPieces(coding, Buffer.from('body'), 10))
      assert.deepEqual([headers.unreadable, body.toString()], [true, 'body'], coding)
      assert.equal(headers.get('content-encoding'), coding)
    }
    const { headers, body } = await read(transport, inPieces('Identity', Buffer.from('body'), 10))
    assert.deepEqual([headers.unreadable, body.toString()], [undefined, 'body'])
  })

  test(`${name}: a reader that pauses applies backpressure, and one that leaves gets no more data`, async () => {
    const packed = gzipSync(Buffer.alloc(BIG, 'abcdefghij'))
    answer = inPieces('gzip', packed, 1_000)
    let bytes = 0
    let calls = 0
    let call: UpstreamCall | undefined
    const listener: UpstreamListener = {
      onHead: () => undefined,
      onData: (piece) => {
        bytes += piece.length
        calls++
        call?.pause()
      },
      onEnd: () => server.emit('whole'),
      onFailure: (failure) => server.emit('error', failure),
    }
    const whole = once(server, 'whole')
    call = transport.send(asked(), listener)
    await until('it begins', () => calls === 1)
    // Each resumption brings a piece; how far it would come by itself is what the pause withholds.
    for (let rounds = 2; rounds < 6; rounds++) {
      call.resume()
      await until('it goes on', () => calls >= rounds)
    }
    assert.ok(bytes < BIG / 2, `${bytes} of ${BIG} bytes`)
    const { pause } = call
    call.pause = () => undefined
    call.resume()
    await whole
    assert.equal(bytes, BIG)
    call.pause = pause

    bytes = calls = 0
    call = transport.send(asked(), { ...listener, onEnd: () => assert.fail('it ended') })
    await until('it begins', () => calls === 1)
    call.cancel()
    call.resume()
    const left = bytes
    await read(transport, inPieces('gzip', packed, 1_000))
    assert.equal(bytes, left)
  })
}
