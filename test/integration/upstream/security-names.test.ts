// Goal: nobody makes the gateway reach into a private network by a name: not by one that resolves anew, nor by one of several
// addresses, nor by a redirect. Method: names that a real DNS server on the loopback address answers, and servers beside it.
import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { CallError, callHttp } from '../../../control/runtime/net/httpCall.ts'
import { checkPublicUrl, lookUpFor } from '../../../proxy/endpoints/tools/publicUrl.ts'
import { type DnsServer, startDnsServer } from '../../support/dnsServer.ts'

async function serve(listener: RequestListener): Promise<{ port: number; close: () => void }> {
  const server = createServer(listener)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return { port: (server.address() as AddressInfo).port, close: () => server.close() }
}

let trap: { port: number; close: () => void }
let trapped = 0

before(async () => {
  trap = await serve((_request, response) => {
    trapped++
    response.end()
  })
})
after(() => trap.close())

/** Server, client and resolver are this one process. */
const PATIENCE_MS = 20_000
const GET = { method: 'GET', headers: {}, timeoutMs: PATIENCE_MS, answerBytesMax: 1_000 } as const
/** DNS over a socket, as the proxy asks it. */
const over = (dns: DnsServer) => lookUpFor(PATIENCE_MS, [dns.address])
const fails = (fault: string) => (error: unknown) => error instanceof CallError && error.fault === fault

test('a name is resolved once: the connection is made to the address that was checked', async (t) => {
  let answers = 0
  const dns = await startDnsServer((_name, family) =>
    family === 4 ? [answers++ === 0 ? '127.0.0.1' : '127.0.0.9'] : [],
  )
  const own = await serve((request, response) => response.end(request.socket.localAddress))
  t.after(() => {
    dns.close()
    own.close()
  })
  const options = { ...GET, allowPrivate: true, lookup: over(dns) }
  const answer = await callHttp({ url: new URL(`http://rebound.test:${own.port}/`), ...options })
  assert.equal(answer.body.toString(), '127.0.0.1')
  assert.equal(answers, 1)
})

test('a name with any private address is rejected before the request is sent', async (t) => {
  const inside = '127.0.0.1'
  const names: Record<string, [four: string[], six: string[]]> = {
    'private.test': [[inside], []],
    'mixed.test': [['93.184.215.14', inside], []],
    'six.test': [['93.184.215.14'], ['0:0:0:0:0:0:0:1']],
    'mapped.test': [[], ['0:0:0:0:0:ffff:7f00:1']],
  }
  const dns = await startDnsServer((name, family) => names[name]?.[family === 4 ? 0 : 1] ?? [])
  t.after(() => dns.close())
  const options = { ...GET, allowPrivate: false, lookup: over(dns) }
  for (const name of Object.keys(names)) {
    await assert.rejects(
      callHttp({ url: new URL(`http://${name}:${trap.port}/`), ...options }),
      fails('not_public'),
      name,
    )
    await assert.rejects(checkPublicUrl(`http://${name}/`, 'url', PATIENCE_MS, over(dns)), {
      code: 'tool_input_invalid',
    })
  }
  assert.equal(trapped, 0)
})

test('redirects are not followed', async (t) => {
  const dns = await startDnsServer((_name, family) => (family === 4 ? ['127.0.0.1'] : []))
  const hop = await serve((_request, response) =>
    response.writeHead(307, { location: `http://inside.test:${trap.port}/` }).end(),
  )
  t.after(() => {
    dns.close()
    hop.close()
  })
  const options = { ...GET, allowPrivate: true, lookup: over(dns) }
  assert.equal((await callHttp({ url: new URL(`http://first.test:${hop.port}/`), ...options })).status, 307)
  assert.equal(trapped, 0)
  assert.ok(!dns.asked.includes('inside.test'))
})
