// Goal: what somebody else has named is asked in bounded time and size, and only where the check was made. Method: real
// servers on loopback addresses, names that resolve as a test says.
import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { CallError, callHttp, type HttpCall } from '../../../control/runtime/net/httpCall.ts'
import { UNTRUSTED } from '../../support/certificates.ts'

const servers: Server[] = []
after(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return (server.address() as AddressInfo).port
}

const OPTIONS = { method: 'GET', headers: {}, timeoutMs: 5_000, answerBytesMax: 1_000, allowPrivate: true } as const

/** Answers the addresses in turn, one for each time that the name is looked up. */
function names(...addresses: string[]): Required<Pick<HttpCall, 'lookup'>> & { asked: string[] } {
  const asked: string[] = []
  const lookup = async (hostname: string): Promise<LookupAddress[]> => {
    asked.push(hostname)
    const address = addresses[Math.min(asked.length, addresses.length) - 1] ?? ''
    return [{ address, family: 4 }]
  }
  return { lookup, asked }
}
const fails = (fault: string) => (error: unknown) => error instanceof CallError && error.fault === fault

test('a name is looked up once, so a second address for it is never used', async () => {
  const port = await serve((request, response) => response.end(request.headers.host))
  const { lookup, asked } = names('127.0.0.1', '192.0.2.1')
  const answer = await callHttp({ url: new URL(`http://rebound.test:${port}/x`), ...OPTIONS, lookup })
  assert.deepEqual([answer.status, answer.body.toString()], [200, `rebound.test:${port}`])
  assert.deepEqual(asked, ['rebound.test'])
})

test('a private address is rejected before the request is sent', async () => {
  let requests = 0
  const port = await serve((_request, response) => {
    requests++
    response.end()
  })
  const strict = { ...OPTIONS, allowPrivate: false }
  for (const [host, more] of [
    ['inside.test', names('127.0.0.1')],
    ['127.0.0.1', {}],
    ['2130706433', {}],
    ['[::ffff:127.0.0.1]', {}],
    ['localhost', {}],
  ] as const) {
    await assert.rejects(
      callHttp({ url: new URL(`http://${host}:${port}/`), ...strict, ...more }),
      fails('not_public'),
      host,
    )
  }
  assert.equal(requests, 0)
})

test('redirects are not followed', async () => {
  let requests = 0
  const port = await serve((_request, response) => {
    requests++
    response.writeHead(302, { location: `http://127.0.0.1:${port}/again` }).end()
  })
  assert.equal((await callHttp({ url: new URL(`http://127.0.0.1:${port}/`), ...OPTIONS })).status, 302)
  assert.equal(requests, 1)
})

test('slow, endless and too large responses are aborted', async () => {
  const port = await serve((request, response) => {
    if (request.url === '/silent') return
    response.writeHead(200)
    if (request.url === '/endless') response.write('x')
    if (request.url === '/large') response.end('x'.repeat(1_001))
    if (request.url === '/fits') response.end('x'.repeat(1_000))
  })
  const at = (path: string, more: Partial<HttpCall> = {}) =>
    callHttp({ url: new URL(`http://127.0.0.1:${port}${path}`), ...OPTIONS, ...more })
  await assert.rejects(at('/silent', { timeoutMs: 50 }), fails('timeout'))
  await assert.rejects(at('/endless', { timeoutMs: 50 }), fails('timeout'))
  await assert.rejects(at('/large'), fails('too_large'))
  assert.equal((await at('/fits')).body.length, 1_000)
})

test('a resolver that does not respond is bounded by the timeout', async () => {
  const lookup = () => new Promise<LookupAddress[]>(() => {})
  await assert.rejects(
    callHttp({ url: new URL('http://silent.test/'), ...OPTIONS, timeoutMs: 20, lookup }),
    fails('timeout'),
  )
})

test('a closed port, a server without HTTP and an untrusted certificate are unreachable', async () => {
  const port = await serve(() => {})
  const [server] = servers.splice(servers.length - 1, 1)
  await new Promise((closed) => server?.close(closed))
  await assert.rejects(callHttp({ url: new URL(`http://127.0.0.1:${port}/`), ...OPTIONS }), fails('unreachable'))
  const tls = createTlsServer(UNTRUSTED, (_request, response) => response.end())
  servers.push(tls)
  await new Promise<void>((listening) => tls.listen(0, '127.0.0.1', listening))
  const tlsPort = (tls.address() as AddressInfo).port
  const { lookup } = names('127.0.0.1')
  await assert.rejects(
    callHttp({ url: new URL(`https://localhost:${tlsPort}/`), ...OPTIONS, lookup }),
    fails('unreachable'),
  )
  await assert.rejects(callHttp({ url: new URL(`http://127.0.0.1:${tlsPort}/`), ...OPTIONS }), fails('unreachable'))
})

test('a failed call reports whether the server may have read it', async () => {
  const port = await serve((request, response) => {
    if (request.url === '/cut') request.socket.destroy()
    if (request.url === '/half') response.writeHead(200, { 'content-length': '9' }).write('x', () => response.destroy())
    if (request.url === '/switch') response.writeHead(101, { upgrade: 'x', connection: 'upgrade' }).end()
    if (request.url === '/heads') response.writeHead(200, { large: 'x'.repeat(20_000) }).end()
  })
  const tls = createTlsServer(UNTRUSTED, (_request, response) => response.end())
  servers.push(tls)
  await new Promise<void>((listening) => tls.listen(0, '127.0.0.1', listening))
  const tlsPort = (tls.address() as AddressInfo).port
  const at = (url: string, more: Partial<HttpCall> = {}): HttpCall => ({ url: new URL(url), ...OPTIONS, ...more })
  const here = `http://127.0.0.1:${port}`
  const lost = async (): Promise<LookupAddress[]> => Promise.reject(new Error('ENOTFOUND'))
  for (const [call, fault, maybeSent] of [
    [at('http://127.0.0.1:1/'), 'unreachable', false],
    [at(`https://127.0.0.1:${tlsPort}/`), 'unreachable', false],
    [at('http://gone.test/', { lookup: lost }), 'not_found', false],
    [at(`${here}/silent`, { allowPrivate: false }), 'not_public', false],
    [at(`${here}/silent`, { timeoutMs: 2_000 }), 'timeout', true],
    [at(`${here}/cut`), 'unreachable', true],
    [at(`${here}/half`), 'unreachable', true],
    [at(`${here}/switch`), 'unreachable', true],
    [at(`${here}/heads`), 'unreachable', true],
  ] as const) {
    await assert.rejects(callHttp(call), (error) => {
      assert.ok(error instanceof CallError)
      assert.deepEqual([error.fault, error.maybeSent], [fault, maybeSent], call.url.href)
      return true
    })
  }
})

test('a call is made once, on its own connection, with the given headers and body', async () => {
  const ports = new Set<number | undefined>()
  const port = await serve((request, response) => {
    ports.add(request.socket.remotePort)
    const { method, url, headers } = request
    response.setHeader('retry-after', request.url === '/date?a=b' ? 'Sun, 22 Nov 2026 10:00:00 GMT' : '7')
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      response.writeHead(201)
      response.end(
        JSON.stringify([method, url, headers['x-a'], headers['user-agent'], Buffer.concat(pieces).toString()]),
      )
    })
  })
  const url = new URL(`http://127.0.0.1:${port}/x?a=b`)
  const post = { ...OPTIONS, url, method: 'POST', headers: { 'x-a': '1' }, body: Buffer.from('é') } as const
  const answers = await Promise.all([callHttp(post), callHttp({ ...post, url: new URL('/date?a=b', url) })])
  assert.deepEqual(
    answers.map(({ status, retryAfterSeconds }) => [status, retryAfterSeconds]),
    [
      [201, 7],
      [201, 0],
    ],
  )
  assert.deepEqual(JSON.parse(String(answers[0]?.body)), ['POST', '/x?a=b', '1', 'sluice', 'é'])
  const gone = await callHttp({ ...post, method: 'DELETE', headers: { 'user-agent': 'own' }, body: '' })
  assert.deepEqual(JSON.parse(String(gone.body)), ['DELETE', '/x?a=b', null, 'own', ''])
  assert.equal(ports.size, 3)
})
