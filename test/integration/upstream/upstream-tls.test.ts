import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import { type TestCertificate, TRUSTED, UNTRUSTED } from '../../support/certificates.ts'
import { assertError, chat, chatStream, completion, takeApart } from '../../support/clients/chatClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

/** Ends TLS in front of the mock provider. */
class Terminator {
  handshakes = 0
  target = 0
  readonly server: Server
  private readonly sockets = new Set<TLSSocket>()

  constructor(certificate: TestCertificate) {
    this.server = createServer(certificate, (socket) => {
      this.handshakes++
      this.sockets.add(socket)
      const onward = connect(this.target, '127.0.0.1')
      socket.pipe(onward).pipe(socket)
      for (const end of [socket, onward]) end.on('error', () => {})
      socket.on('close', () => {
        this.sockets.delete(socket)
        onward.destroy()
      })
      onward.on('close', () => socket.destroy())
    })
    this.server.on('tlsClientError', () => {})
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  /** Breaks every connection, as a load balancer does that was started again. */
  dropAll(): void {
    for (const socket of this.sockets) socket.destroy()
  }
}

const terminators = { trusted: new Terminator(TRUSTED), untrusted: new Terminator(UNTRUSTED) }
let stack: Stack
let folder: string

const CATALOG = (trusted: number, untrusted: number) => `coin: { usd: "1" }
providers:
  - { id: trusted, base_url: "https://localhost:${trusted}/v1", dialect: openai, data_policy: none }
  - { id: untrusted, base_url: "https://localhost:${untrusted}/v1", dialect: openai, data_policy: none }
models:
${[
  ['trusted', 'trusted', 'mock,chunks=300'],
  ['untrusted', 'untrusted', 'mock,chunks=300'],
  ['slow', 'trusted', 'mock,chunks=300,delay=20'],
]
  .map(
    ([name, provider, model]) => `  - id: tls/${name}
    owned_by: test
    modality: chat
    endpoints: [chat]
    context: 128000
    max_output: 16384
    price: { input: "0.15", output: "0.60" }
    routes: [ { provider: ${provider}, model: "${model}" } ]
`,
  )
  .join('')}`

before(async () => {
  folder = makeTempDir('certificates')
  const trusted = join(folder, 'trusted.pem')
  writeFileSync(trusted, TRUSTED.cert)
  for (const { server } of Object.values(terminators)) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  stack = await startStack({
    env: { NODE_EXTRA_CA_CERTS: trusted },
    catalog: (providerUrl) => {
      for (const terminator of Object.values(terminators)) terminator.target = Number(new URL(providerUrl).port)
      return CATALOG(terminators.trusted.port, terminators.untrusted.port)
    },
  })
})
after(async () => {
  for (const terminator of Object.values(terminators)) {
    terminator.dropAll()
    terminator.server.close()
  }
  await stack.finish()
  removeTempDir(folder)
})

test('buffered and streamed responses work over TLS, on kept-alive connections', async () => {
  const { apiKey } = await stack.createAccount()
  for (let i = 0; i < 5; i++) {
    completion(await chat(stack.baseUrl, apiKey, { model: 'tls/trusted' }))
    const streamed = await chatStream(stack.baseUrl, apiKey, { model: 'tls/trusted' })
    assert.equal(streamed.done, true)
  }
  // What ends a stream on its connection may come after its last event, and the next request does not wait for it.
  assert.ok(terminators.trusted.handshakes <= 5, `${terminators.trusted.handshakes} handshakes for 10 requests`)
})

test('a dead kept-alive connection is replaced without an error', async () => {
  const { apiKey } = await stack.createAccount()
  completion(await chat(stack.baseUrl, apiKey, { model: 'tls/trusted' }))
  terminators.trusted.dropAll()
  completion(await chat(stack.baseUrl, apiKey, { model: 'tls/trusted' }))
})

test('a provider with an untrusted certificate is unreachable', async () => {
  const { apiKey } = await stack.createAccount()
  assertError(await chat(stack.baseUrl, apiKey, { model: 'tls/untrusted' }), 502, 'upstream_unavailable')
})

test('a stream whose connection is cut below TLS is reported as interrupted, and its output so far is charged', async () => {
  const { apiKey } = await stack.createAccount()
  const body = JSON.stringify({ model: 'tls/slow', stream: true, messages: [{ role: 'user', content: 'hello' }] })
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` }
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, { method: 'POST', headers, body })
  assert.ok(response.body !== null)
  let text = ''
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    if (text === '') terminators.trusted.dropAll()
    text += part
  }
  const { events, receipt, done } = takeApart({ status: response.status, headers: response.headers, text })
  assert.equal((events.at(-1)?.['error'] as { code?: string } | undefined)?.code, 'stream_interrupted')
  assert.equal(done, true)
  assert.deepEqual([receipt?.status, receipt?.error], ['partial', 'stream_interrupted'])
  assert.ok(Number(receipt?.cost.units) > 0)
})
