// Goal: providers behind a forward proxy, with an authority of their own or with client certificates, serve chats, streams and batch
// jobs, and certificates that are replaced are used without a restart. Method: the whole gateway; the mock provider behind TLS that
// wants a certificate, under names that only the proxy can resolve.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import { newCertificate } from '../../../mock/certificate.ts'
import { BATCH_PRICE, ended, submitted } from '../../support/clients/batchClient.ts'
import { assertError, chat, chatStream, completion } from '../../support/clients/chatClient.ts'
import { ConnectProxy } from '../../support/providers/connectProxy.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const HOST = 'api.acme.test'
const own = newCertificate(HOST)
const clients = [newCertificate('first.test'), newCertificate('second.test')] as const
const dir = makeTempDir('provider-reach')

let server: Server
let target = 0
let stack: Stack
let apiKey: string
const proxies: Record<string, ConnectProxy> = {}
const sockets = new Set<TLSSocket>()

function mount(name: string, text: string): string {
  const path = join(dir, name)
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
  return path
}

function terminate(socket: TLSSocket): void {
  sockets.add(socket)
  const onward = connect(target, '127.0.0.1')
  socket.pipe(onward).pipe(socket)
  for (const end of [socket, onward]) end.on('error', () => undefined)
  socket.on('close', () => {
    sockets.delete(socket)
    onward.destroy()
  })
}

before(async () => {
  server = createServer({ ...own, requestCert: true, rejectUnauthorized: true, ca: clients[0].cert }, terminate)
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  for (const name of ['open', 'environment']) proxies[name] = await ConnectProxy.start()
  proxies['guarded'] = await ConnectProxy.start({ login: 'user:word' })
  proxies['refusing'] = await ConnectProxy.start({ answer: 'HTTP/1.1 502 Bad gateway\r\n\r\n' })
  const base_url = `https://${HOST}:${port}/v1`
  const files = {
    ca_file: mount('ca.pem', own.cert),
    cert_file: mount('client.pem', clients[0].cert),
    key_file: mount('client.key', clients[0].key),
  }
  const by = (name: string, more = {}) => ({ url: proxies[name]?.url ?? '', ...more })
  const providers = [
    { id: 'open', base_url, ...files, proxy: by('open') },
    { id: 'environment', base_url, ...files },
    { id: 'guarded', base_url, ...files, proxy: by('guarded', { file: mount('login', 'user:wrong') }) },
    { id: 'refusing', base_url, ...files, proxy: by('refusing') },
    { id: 'uncertified', base_url, ca_file: files.ca_file, proxy: by('open') },
    { id: 'untrusting', base_url, cert_file: files.cert_file, key_file: files.key_file, proxy: by('open') },
    { id: 'unreadable', base_url, ca_file: join(dir, 'gone.pem'), proxy: by('open') },
  ]
  stack = await startStack({
    env: { HTTPS_PROXY: proxies['environment']?.url, NO_PROXY: 'elsewhere.test' },
    limits: { keyFileCheckMs: 100, batchGatherMs: 100, batchTickMs: 50, batchPollMs: 100 },
    catalog: (providerUrl) => {
      target = Number(new URL(providerUrl).port)
      const model = (id: string) => ({
        id: `test/${id}`,
        owned_by: 'test',
        modality: 'chat',
        endpoints: ['chat'],
        context: 128_000,
        max_output: 16_384,
        price: BATCH_PRICE,
        routes: [{ provider: id, model: 'chat-small' }],
      })
      return JSON.stringify({
        coin: { usd: '1' },
        providers: providers.map((provider) => ({
          dialect: 'openai',
          data_policy: 'none',
          api_key_env: 'SLUICE_TEST_PROVIDER_KEY',
          ...provider,
        })),
        models: providers.map(({ id }) => model(id)),
      })
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})
after(async () => {
  await stack.finish()
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
  await Promise.all(Object.values(proxies).map((proxy) => proxy.close()))
  removeTempDir(dir)
})

const ask = (provider: string) => chat(stack.baseUrl, apiKey, { model: `test/${provider}`, max_tokens: 5 })
const asked = (proxy: string): number => proxies[proxy]?.asked.length ?? 0

test('chats and streams go through the proxy of the provider, with certificates of both sides, over kept tunnels', async () => {
  for (let i = 0; i < 5; i++) {
    assert.equal(completion(await ask('open')).receipt.status, 'ok')
    const streamed = await chatStream(stack.baseUrl, apiKey, { model: 'test/open', max_tokens: 5 })
    assert.equal(streamed.receipt?.status, 'ok')
  }
  // What ends a stream on its connection may come after its last event, and the next request does not wait for it.
  assert.ok(asked('open') >= 1 && asked('open') <= 5, `${asked('open')} tunnels for 10 requests`)
  assert.equal(asked('environment'), 0)
})

test('without one, HTTPS_PROXY is on the way', async () => {
  completion(await ask('environment'))
  assert.ok(asked('environment') >= 1)
})

test('a batch job of control goes the same way', async () => {
  const job = await submitted(stack, apiKey, { model: 'test/open', max_tokens: 5 })
  const before = asked('open')
  assert.equal((await ended(stack, apiKey, job)).status, 'done')
  assert.ok(asked('open') > before - 1)
})

test('a proxy that refuses, a missing certificate and an unknown authority are a provider that is not reached', async () => {
  for (const provider of ['refusing', 'uncertified', 'untrusting'])
    assertError(await ask(provider), 502, 'upstream_unavailable')
  for (const cause of ['proxy', 'certificate']) {
    await until(`faults of ${cause} are counted`, async () => {
      const metrics = await (await fetch(stack.metricsUrl)).text()
      return new RegExp(`sluice_connection_faults_total\\{cause="${cause}"\\} [1-9]`).test(metrics)
    })
  }
})

test('a provider whose file cannot be read is off, and named by the log', async () => {
  assert.notEqual((await ask('unreadable')).status, 200)
  assert.ok(stack.logs().includes('gone.pem'))
})

test('a password of the proxy that is replaced is used without a restart', async () => {
  assertError(await ask('guarded'), 502, 'upstream_unavailable')
  mount('login', 'user:word\n')
  await until('the proxy lets the gateway pass', async () => (await ask('guarded')).status === 200)
})

test('a client certificate that is replaced, file by file, is used without a restart, and no request fails in between', async () => {
  server.setSecureContext({ ...own, ca: [clients[0].cert, clients[1].cert] })
  mount('client.pem', clients[1].cert)
  for (let i = 0; i < 5; i++) completion(await ask('open'))
  mount('client.key', clients[1].key)
  // Only the new one opens connections from now on.
  await until('the new certificate is shown', async () => {
    completion(await ask('open'))
    return [...sockets].some((socket) => socket.getPeerCertificate().subject?.CN === 'second.test')
  })
})

test('the book is whole', async () => {
  await stack.settled()
  await stack.audit()
})
