// Goal: what HTTP clients and balancers do outside the API is served, or refused with the reason: compressed bodies, long
// heads, kept connections, other targets and versions. Method: raw connections to a whole stack.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { assertError, postTo } from '../support/clients/chatClient.ts'
import { type Stack, startStack, until } from '../support/stack.ts'

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack()
  apiKey = (await stack.createAccount()).apiKey
})
after(() => stack?.finish())

const ASKED = JSON.stringify({ model: 'test/small', messages: [{ role: 'user', content: 'hello' }] })

function post(headers: Record<string, string>, body: string | Buffer): Promise<Response> {
  return fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}`, ...headers },
    body,
  })
}

const CODED: [coding: string, body: Buffer][] = [
  ['gzip', gzipSync(ASKED)],
  ['GZIP', gzipSync(Buffer.alloc(10_000_000))],
  ['br', brotliCompressSync(ASKED)],
  ['zstd', Buffer.from('28b52ffd', 'hex')],
  ['identity, gzip', gzipSync(ASKED)],
]
for (const [coding, body] of CODED) {
  test(`a body of ${body.length} bytes as ${coding} is answered 415 with the reason`, async () => {
    const response = await post({ 'content-encoding': coding }, body)
    const reply = { status: response.status, headers: response.headers, text: await response.text() }
    assert.match(assertError(reply, 415, 'unsupported_encoding').message, /Content-Encoding/)
    assert.equal(response.headers.get('accept-encoding'), 'identity')
    assert.equal(response.headers.get('x-should-retry'), 'false')
  })
}

test('identity is no coding', async () => {
  const response = await post({ 'content-encoding': 'identity' }, ASKED)
  assert.equal(response.status, 200, await response.text())
})

/** Sends bytes, and gives what came once `isEnough` says so or the server has closed. */
async function raw(bytes: string, isEnough: (text: string) => boolean): Promise<{ text: string; closed: boolean }> {
  const socket = connect(stack.proxy.port, '127.0.0.1')
  let text = ''
  let closed = false
  socket.on('data', (piece) => (text += piece.toString('latin1'))).on('close', () => (closed = true))
  socket.on('error', () => (closed = true))
  await once(socket, 'connect')
  socket.write(bytes)
  await until('an answer', () => closed || isEnough(text))
  socket.destroy()
  return { text, closed }
}

const HEAD_END = '\r\n\r\n'
const HEADS: [bytes: number, status: string][] = [
  [4_000, '200'],
  [30_000, '200'],
  [40_000, '431'],
]
for (const [bytes, status] of HEADS) {
  test(`a head of ${bytes} bytes is answered ${status}`, async () => {
    const head = `GET /health HTTP/1.1\r\nHost: x\r\nCookie: ${'c'.repeat(bytes)}${HEAD_END}`
    const { text } = await raw(head, (one) => one.includes(HEAD_END))
    assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `))
  })
}

test('the bound of heads is stated as it is', async () => {
  const stated = (await (await fetch(`${stack.baseUrl}/v1/limits`)).json()) as { request: { head_bytes: number } }
  assert.ok(JSON.stringify(stated).includes('"head_bytes":32768'), JSON.stringify(stated))
})

const KEPT: [what: string, request: () => Promise<{ headers: Headers }>][] = [
  ['an answer', () => post({}, ASKED)],
  ['a stream', () => post({}, JSON.stringify({ ...(JSON.parse(ASKED) as object), stream: true }))],
  ['an error', () => postTo(`${stack.baseUrl}/v1/chat/completions`, apiKey, '{}')],
]
for (const [what, request] of KEPT) {
  test(`${what} says for how long its connection is kept`, async () => {
    assert.equal((await request()).headers.get('keep-alive'), 'timeout=8')
  })
}

test('an unused connection is kept for longer than was announced', async () => {
  const socket = connect(stack.proxy.port, '127.0.0.1')
  // Before the answer, because this process may stand still while the answer has arrived.
  const sinceMs = performance.now()
  socket.write(`GET /health HTTP/1.1\r\nHost: x${HEAD_END}`)
  await once(socket, 'data')
  await once(socket.resume(), 'close')
  assert.ok(performance.now() - sinceMs > 8_000)
})

for (const line of [`GET http://127.0.0.1/health HTTP/1.1`, 'GET /health HTTP/1.0']) {
  test(`${line} is answered 505, as documented`, async () => {
    const { text } = await raw(`${line}\r\nHost: x${HEAD_END}`, (one) => one.includes(HEAD_END))
    assert.match(text, /^HTTP\/1\.1 505 /)
  })
}
