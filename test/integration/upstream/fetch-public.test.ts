// Goal: what somebody else has named is asked in bounded time and size, and only where the check was made. Method: real
// servers on loopback addresses, names that resolve as a test says.
import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { FetchError, type FetchOptions, fetchPublic } from '../../../control/runtime/net/fetchPublic.ts'
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

const OPTIONS = { timeoutMs: 5_000, bytesMax: 1_000, allowPrivate: true }
/** Answers the addresses in turn, one for each time that the name is looked up. */
function names(...addresses: string[]): Required<Pick<FetchOptions, 'lookup'>> & { asked: string[] } {
  const asked: string[] = []
  const lookup = async (hostname: string): Promise<LookupAddress[]> => {
    asked.push(hostname)
    const address = addresses[Math.min(asked.length, addresses.length) - 1] ?? ''
    return [{ address, family: 4 }]
  }
  return { lookup, asked }
}
const fails = (fault: string) => (error: unknown) => error instanceof FetchError && error.fault === fault

test('a name that resolves to another address the second time is looked up once', async () => {
  const port = await serve((request, response) => response.end(request.headers.host))
  const { lookup, asked } = names('127.0.0.1', '192.0.2.1')
  const answer = await fetchPublic(new URL(`http://rebound.test:${port}/x`), { ...OPTIONS, lookup })
  assert.deepEqual([answer.status, answer.body.toString()], [200, `rebound.test:${port}`])
  assert.deepEqual(asked, ['rebound.test'])
})

test('a private address is refused before anything is sent', async () => {
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
      fetchPublic(new URL(`http://${host}:${port}/`), { ...strict, ...more }),
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
  assert.equal((await fetchPublic(new URL(`http://127.0.0.1:${port}/`), OPTIONS)).status, 302)
  assert.equal(requests, 1)
})

test('answers that are slow, endless or too large are left', async () => {
  const port = await serve((request, response) => {
    if (request.url === '/silent') return
    response.writeHead(200)
    if (request.url === '/endless') response.write('x')
    if (request.url === '/large') response.end('x'.repeat(1_001))
    if (request.url === '/fits') response.end('x'.repeat(1_000))
  })
  const at = (path: string, more: Partial<FetchOptions> = {}) =>
    fetchPublic(new URL(`http://127.0.0.1:${port}${path}`), { ...OPTIONS, ...more })
  await assert.rejects(at('/silent', { timeoutMs: 50 }), fails('timeout'))
  await assert.rejects(at('/endless', { timeoutMs: 50 }), fails('timeout'))
  await assert.rejects(at('/large'), fails('too_large'))
  assert.equal((await at('/fits')).body.length, 1_000)
})

test('a resolver that does not answer costs no more time than there is', async () => {
  const lookup = () => new Promise<LookupAddress[]>(() => {})
  await assert.rejects(
    fetchPublic(new URL('http://silent.test/'), { ...OPTIONS, timeoutMs: 20, lookup }),
    fails('timeout'),
  )
})

test('where nobody listens, speaks HTTP or has a certificate that is trusted, it can not be reached', async () => {
  const port = await serve(() => {})
  const [server] = servers.splice(servers.length - 1, 1)
  await new Promise((closed) => server?.close(closed))
  await assert.rejects(fetchPublic(new URL(`http://127.0.0.1:${port}/`), OPTIONS), fails('unreachable'))
  const tls = createTlsServer(UNTRUSTED, (_request, response) => response.end())
  servers.push(tls)
  await new Promise<void>((listening) => tls.listen(0, '127.0.0.1', listening))
  const tlsPort = (tls.address() as AddressInfo).port
  const { lookup } = names('127.0.0.1')
  await assert.rejects(
    fetchPublic(new URL(`https://localhost:${tlsPort}/`), { ...OPTIONS, lookup }),
    fails('unreachable'),
  )
  await assert.rejects(fetchPublic(new URL(`http://127.0.0.1:${tlsPort}/`), OPTIONS), fails('unreachable'))
})
