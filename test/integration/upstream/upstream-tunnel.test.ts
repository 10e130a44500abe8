// Goal: through a forward proxy the gateway loses no byte and trusts nobody without a proof; connections and TLS sessions are kept,
// and a proxy that makes no tunnel is told apart from a provider that is down. Method: both transports through a real proxy.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createSilent } from 'node:net'
import { after, before, test } from 'node:test'
import { createSecureContext } from 'node:tls'
import { connectionFault } from '../../../contract/net/connectionFault.ts'
import { forwardProxy } from '../../../contract/net/environmentProxies.ts'
import type { Reach } from '../../../contract/providers/reach.ts'
import { newCertificate } from '../../../mock/certificate.ts'
import { SocketTransport } from '../../../proxy/upstream/socketTransport.ts'
import { HeaderBlock } from '../../../proxy/upstream/transport/headerBlock.ts'
import type { Transport, TransportFailure, UpstreamRequest } from '../../../proxy/upstream/transport/transport.ts'
import { UndiciTransport } from '../../../proxy/upstream/undiciTransport.ts'
import { limits } from '../../support/limits.ts'
import { present } from '../../support/present.ts'
import { ConnectProxy } from '../../support/providers/connectProxy.ts'
import { TlsServer } from '../../support/providers/tlsServer.ts'
import { until } from '../../support/until.ts'

/** A name that only the proxy can resolve. */
const HOST = 'api.acme.test'
const WHOLE = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const LARGE_BYTES = 1_000_000

const certificate = newCertificate(HOST)
const context = createSecureContext({ ca: certificate.cert })
const secure = new TlsServer(certificate, (socket) => socket.write(WHOLE))
const plain: Server = createServer((request, response) => {
  let bytes = 0
  request.on('data', (data: Buffer) => {
    bytes += data.length
  })
  request.on('end', () => response.end(`${request.url} ${bytes}`))
})
const transports: Readonly<Record<string, Transport>> = {
  sockets: new SocketTransport(limits),
  undici: new UndiciTransport(limits),
}
let proxy: ConnectProxy

before(async () => {
  proxy = await ConnectProxy.start()
  await secure.listen()
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
})
after(async () => {
  for (const transport of Object.values(transports)) await transport.close()
  plain.closeAllConnections()
  await new Promise((resolve) => plain.close(resolve))
  await secure.close()
  await proxy.close()
})

function through(url: string): Reach {
  return { name: url, proxy: present(forwardProxy(url)), context }
}

interface Heard {
  readonly status: number
  readonly text: string
  readonly failure: TransportFailure | undefined
}

function ask(transport: Transport, origin: string, reach: Reach, more: Partial<UpstreamRequest> = {}): Promise<Heard> {
  return new Promise((resolve) => {
    let text = ''
    let status = 0
    const times = { connectTimeoutMs: 20_000, firstByteTimeoutMs: 20_000, idleTimeoutMs: 20_000 }
    const request: UpstreamRequest = {
      origin,
      host: new URL(origin).host,
      path: '/a',
      method: 'POST',
      headers: new HeaderBlock(['authorization', 'Bearer secret']),
      requestId: 'req_test',
      body: 'body',
      ...times,
      totalTimeoutMs: 60_000,
      fresh: false,
      reach,
      ...more,
    }
    transport.send(request, {
      onHead: (code) => {
        status = code
      },
      onData: (bytes) => {
        text += bytes.toString('latin1')
      },
      onEnd: () => resolve({ status, text, failure: undefined }),
      onFailure: (failure) => resolve({ status, text, failure }),
    })
  })
}

const secureOrigin = () => `https://${HOST}:${secure.port}`
const plainOrigin = () => `http://${HOST}:${(plain.address() as AddressInfo).port}`

for (const [name, transport] of Object.entries(transports)) {
  test(`${name}: TLS goes through a tunnel that is kept for more requests, and ends at the server`, async () => {
    const asked = proxy.asked.length
    for (let i = 0; i < 5; i++) assert.equal((await ask(transport, secureOrigin(), through(proxy.url))).text, 'ok')
    assert.deepEqual(new Set(proxy.asked.slice(asked)), new Set([`${HOST}:${secure.port}`]))
    // undici may ask again before it has taken the connection back.
    assert.ok(proxy.asked.length - asked <= 2)
    assert.match(secure.received, new RegExp(`host: ${HOST}:${secure.port}`, 'i'))
    assert.ok(!/proxy-/i.test(secure.received))
  })

  test(`${name}: a server without TLS, with bodies as text and in pieces`, async () => {
    const text = await ask(transport, plainOrigin(), through(proxy.url))
    assert.deepEqual([text.status, text.text], [200, '/a 4'])
    const body = [Buffer.alloc(LARGE_BYTES, 'a'), Buffer.alloc(LARGE_BYTES, 'b')]
    const pieces = await ask(transport, plainOrigin(), through(proxy.url), { body })
    assert.equal(pieces.text, `/a ${2 * LARGE_BYTES}`)
  })

  test(`${name}: the certificate of the server is checked in the tunnel`, async () => {
    const seen = secure.received.length
    const { failure } = await ask(transport, secureOrigin(), {
      name: 'untrusting',
      proxy: present(forwardProxy(proxy.url)),
    })
    assert.equal(connectionFault(failure?.cause)?.kind, 'certificate')
    assert.equal(secure.received.length, seen)
  })

  test(`${name}: user and password`, async () => {
    const guarded = await ConnectProxy.start({ login: 'us er:pä:ss' })
    const login = `${encodeURIComponent('us er')}:${encodeURIComponent('pä:ss')}`
    const right = guarded.url.replace('//', `//${login}@`)
    assert.equal((await ask(transport, secureOrigin(), through(right))).text, 'ok')
    for (const url of [guarded.url, guarded.url.replace('//', '//user:wrong@')]) {
      const { failure } = await ask(transport, secureOrigin(), through(url))
      assert.deepEqual(
        [failure?.kind, connectionFault(failure?.cause)],
        ['connect', { kind: 'proxy', code: 'PROXY_407' }],
      )
    }
    await guarded.close()
  })

  for (const [answer, code] of [
    ['HTTP/1.1 403 No\r\ncontent-length: 3\r\n\r\nno!', 'PROXY_403'],
    ['HTTP/1.1 502 Bad\r\n\r\n', 'PROXY_502'],
    ['HTTP/1.0 504 Late\r\n\r\n', 'PROXY_504'],
    ['', 'PROXY_ENDED'],
    ['HTTP/1.1 200 OK\r\n', 'PROXY_ENDED'],
    ['SSH-2.0-other\r\n\r\n', 'PROXY_MALFORMED'],
    ['HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno', 'PROXY_MALFORMED'],
    [`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(20_000)}`, 'PROXY_MALFORMED'],
  ] as const) {
    test(`${name}: no tunnel after ${JSON.stringify(answer.slice(0, 60))}`, async () => {
      const refusing = await ConnectProxy.start({ answer })
      for (const origin of [secureOrigin(), plainOrigin()]) {
        const { failure } = await ask(transport, origin, through(refusing.url))
        assert.deepEqual([failure?.kind, connectionFault(failure?.cause)], ['connect', { kind: 'proxy', code }])
      }
      await refusing.close()
    })
  }

  test(`${name}: a proxy that is down, and a server that the proxy does not reach`, async () => {
    const gone = await ConnectProxy.start()
    const url = gone.url
    await gone.close()
    const down = await ask(transport, secureOrigin(), through(url))
    assert.deepEqual(
      [down.failure?.kind, connectionFault(down.failure?.cause)?.code],
      ['connect', 'PROXY_ECONNREFUSED'],
    )
    const beyond = await ask(transport, `https://${HOST}:1`, through(proxy.url))
    assert.deepEqual([beyond.failure?.kind, connectionFault(beyond.failure?.cause)?.code], ['connect', 'PROXY_502'])
  })

  test(`${name}: a proxy with TLS of its own`, async () => {
    const own = newCertificate('127.0.0.1')
    const encrypted = await ConnectProxy.start({ certificate: own })
    const { failure } = await ask(transport, secureOrigin(), through(encrypted.url.replace('http:', 'https:')))
    assert.deepEqual(connectionFault(failure?.cause), { kind: 'proxy', code: 'PROXY_DEPTH_ZERO_SELF_SIGNED_CERT' })
    await encrypted.close()
  })
}

test('sockets: a new connection through the proxy resumes the TLS session of an earlier one', async () => {
  const transport = new SocketTransport(limits)
  const reach = through(proxy.url)
  assert.equal((await ask(transport, secureOrigin(), reach)).text, 'ok')
  const before = secure.resumed.length
  await until('the session was resumed', async () => {
    assert.equal((await ask(transport, secureOrigin(), reach, { fresh: true })).text, 'ok')
    return secure.resumed.slice(before).includes(true)
  })
  // Other certificates of the gateway's: a session of these would say that the server knows them.
  const seen = secure.resumed.length
  assert.equal((await ask(transport, secureOrigin(), { ...reach, name: 'another' })).text, 'ok')
  assert.deepEqual(secure.resumed.slice(seen), [false])
  await transport.close()
})

test('sockets: a proxy that says nothing is left after the connect timeout; a cancelled request leaves it at once', async () => {
  const transport = new SocketTransport(limits)
  const silent = createSilent()
  let open = 0
  silent.on('connection', (socket) => {
    open++
    socket.resume().on('close', () => open--)
  })
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const reach = through(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`)
  const { failure } = await ask(transport, secureOrigin(), reach, { connectTimeoutMs: 100 })
  assert.equal(failure?.kind, 'connect_timeout')
  await until('the connection to the proxy is closed', () => open === 0)
  const fail = (): void => assert.fail('a cancelled call')
  const never = { onHead: fail, onData: fail, onEnd: fail, onFailure: fail }
  const call = transport.send(
    {
      origin: secureOrigin(),
      host: HOST,
      path: '/',
      method: 'GET',
      headers: new HeaderBlock([]),
      requestId: 'r',
      body: null,
      connectTimeoutMs: 20_000,
      firstByteTimeoutMs: 20_000,
      idleTimeoutMs: 20_000,
      totalTimeoutMs: 20_000,
      fresh: false,
      reach,
    },
    never,
  )
  await until('the proxy is connected', () => open === 1)
  call.cancel()
  await until('the connection is closed', () => open === 0)
  await transport.close()
  await new Promise((resolve) => silent.close(resolve))
})
