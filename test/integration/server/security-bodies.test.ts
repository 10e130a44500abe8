// Goal: slow and malformed requests are answered, and strangers' bodies take nothing that customers need. The slow cases
// take real times, because timers of the HTTP server package are among what is tried.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '../../../contract/errors/errors.ts'
import type { Handler, Sender } from '../../../proxy/server/exchange.ts'
import { describe, eventually, RawClient, startServer, type TestServer } from '../../support/parts/server.ts'

const MIB = 1_048_576
/** Longer than the server package leaves a connection open by itself. */
const BODY_TIMEOUT_MS = 13_000

const clients: RawClient[] = []
const servers: TestServer[] = []
after(() => {
  for (const client of clients) client.leave()
  for (const { server } of servers) server.close()
})

async function start(...options: Parameters<typeof startServer>): Promise<TestServer> {
  const server = await startServer(...options)
  servers.push(server)
  return server
}

async function open({ port }: TestServer): Promise<RawClient> {
  const client = await RawClient.open(port)
  clients.push(client)
  return client
}

const head = (path: string, length: number): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`

/** Sends a body piece by piece until all is sent or the connection is closed. */
async function trickle(server: TestServer, length: number, piece: number, everyMs: number): Promise<RawClient> {
  const client = await open(server)
  await client.send(head('/echo', length))
  for (let sent = 0; sent < length && !client.closed; ) {
    if (sent > 0 || everyMs > 1_000) await sleep(everyMs)
    const bytes = Math.min(piece, length - sent)
    await client.send(Buffer.alloc(bytes, 97))
    sent += bytes
  }
  return client
}

/** Waits longer than `eventually`, for the slow cases. */
async function untilAnswered(client: RawClient): Promise<string> {
  for (let i = 0; i < 600 && !client.closed && client.text === ''; i++) await sleep(100)
  return client.text
}

async function assertTimedOut(client: RawClient): Promise<void> {
  const text = await untilAnswered(client)
  assert.match(text, /^HTTP\/1\.1 408 .*\r\nx-request-id: req_.*"code":"body_timeout"/s)
  await eventually('the connection is closed', () => client.closed)
}

test('slow bodies are served within the timeout and rejected after it', { concurrency: true }, async (t) => {
  const brief = await start({ bodyTimeoutMs: BODY_TIMEOUT_MS })
  const usual = await start()
  // The rest of its body is in the same segment as what it is asked for proof by, and its answer takes long.
  const late: Handler = async (exchange, body) => {
    await sleep(BODY_TIMEOUT_MS)
    exchange.answer(200, 'text/plain', describe(body))
  }
  const looksUp = async (): Promise<Sender> => {
    await sleep(50)
    return 'customer'
  }
  const asking = await start({}, [{ method: 'POST', path: '/late', handler: late, precheck: looksUp }])
  const silent = async (): Promise<RawClient> => {
    const client = await open(brief)
    await client.send(head('/echo', 100))
    return client
  }
  await Promise.all([
    t.test('a head without its body', async () => assertTimedOut(await silent())),
    t.test('a byte every 3 seconds', async () => assertTimedOut(await trickle(brief, 100, 1, 3_000))),
    t.test('20 kB a second', async () => assertTimedOut(await trickle(brief, MIB, 4_000, 200))),
    t.test('60 kB over 12 seconds', async () => {
      const client = await trickle(usual, 60_000, 15_000, 4_000)
      assert.match(await untilAnswered(client), /^HTTP\/1\.1 200 /)
    }),
    t.test('a slow response after a body that was paused', async () => {
      const client = await open(asking)
      const pieces = `4000\r\n${'a'.repeat(0x4000)}\r\n`.repeat(5)
      await client.send(`POST /late HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${pieces}0\r\n\r\n`)
      assert.match(await untilAnswered(client), /^HTTP\/1\.1 200 .*\r\n\r\n81920 /s)
    }),
  ])
  assert.deepEqual(brief.refused, ['body_timeout', 'body_timeout', 'body_timeout'])
})

const MALFORMED: readonly (readonly [what: string, text: string, status: number])[] = [
  ['no Host', 'GET /served HTTP/1.1\r\nA: b\r\n\r\n', 400],
  ['two Hosts', 'GET /served HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n', 400],
  ['a NUL in a value', 'GET /served HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n', 400],
  ['a NUL in a name', 'GET /served HTTP/1.1\r\nHost: x\r\nA\0: b\r\n\r\n', 400],
  ['a space before the colon', 'GET /served HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n', 400],
  ['a header name beyond ASCII', 'GET /served HTTP/1.1\r\nHost: x\r\nA\xa0: b\r\n\r\n', 400],
  [
    'a coding that is not just chunked',
    'POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ch\xa0unked\r\n\r\n',
    400,
  ],
  ['a length beyond ASCII', 'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\xa05\r\n\r\n', 400],
  ['too many headers', `GET /served HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(120)}\r\n`, 431],
  ['trailers', 'POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n', 505],
]

test('malformed heads are rejected immediately, and their connections closed', async () => {
  const server = await start()
  const results = MALFORMED.map(async ([what, text, status]) => {
    const client = await open(server)
    const sentAtMs = performance.now()
    await client.send(Buffer.from(text, 'latin1'))
    await eventually(`the end after ${what}`, () => client.closed)
    assert.deepEqual(client.statuses(), [status], what)
    assert.ok(performance.now() - sentAtMs < 30_000, `${what} took long`)
  })
  await Promise.all(results)
  assert.equal(server.server.open, 0)
})

test('a second request before the first is answered ends the connection immediately', async () => {
  const handler: Handler = async (exchange) => {
    await sleep(100)
    exchange.answer(200, 'text/plain', 'late')
  }
  const server = await start({}, [{ method: 'GET', path: '/late', handler }])
  const client = await open(server)
  await client.send('GET /late HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2))
  await eventually('the connection is closed', () => client.closed)
  assert.deepEqual([client.text, server.server.open], ['', 0])
})

/** Sends a body and gives the status that it is answered with. */
async function statusOf(server: TestServer, path: string, bytes: number): Promise<number> {
  const client = await open(server)
  await client.send(head(path, bytes))
  await client.send(Buffer.alloc(bytes, 97))
  const [status = 0] = await client.answers(1)
  client.leave()
  return status
}

test('requests without a key use only their own share of memory, not that of customers', async () => {
  const server = await start({ strangerBodyBytesOpenMax: MIB })
  for (let i = 0; i < 4; i++) {
    const client = await open(server)
    await client.send(head('/open', MIB / 2))
    await client.send(Buffer.alloc(300_000, 97))
  }
  await eventually('strangers are refused', () => server.refused.includes('too_many_requests_open'))
  assert.equal(await statusOf(server, '/open', MIB / 2), 503)
  // Also before it is known who they are, and in pieces.
  const customer = await open(server)
  await customer.send(head('/echo', 50_000))
  await customer.send(Buffer.alloc(20_000, 97))
  await sleep(20)
  await customer.send(Buffer.alloc(30_000, 97))
  assert.deepEqual(await customer.answers(1), [200])
  assert.equal(await statusOf(server, '/echo', 10 * MIB), 200)
})

test('the body limit is lower without a key', async () => {
  const server = await start()
  assert.equal(await statusOf(server, '/open', MIB), 200)
  assert.equal(await statusOf(server, '/open', MIB + 1), 413)
  const unknown = await open(server)
  await unknown.send('POST /open HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
  for (let i = 0; i < 5; i++) await unknown.send(`40000\r\n${'a'.repeat(0x40000)}\r\n`)
  assert.deepEqual(await unknown.answers(1), [413])
  assert.equal(await statusOf(server, '/echo', 10 * MIB), 200)
})

test('uploads without a key do not use the memory of customers', async () => {
  const held: Handler = () => undefined
  const plain: Handler = (exchange) => exchange.answer(200, 'text/plain', 'done')
  const server = await start({ strangerUploadBytesOpenMax: 2 * MIB }, [
    { method: 'POST', path: '/held', handler: held, upload: true },
    { method: 'POST', path: '/upload', handler: plain, upload: true, precheck: () => 'customer' },
  ])
  const stranger = await open(server)
  await stranger.send(head('/held', 2 * MIB))
  await stranger.send(Buffer.alloc(2 * MIB))
  await eventually('the upload is held', () => server.server.open === 1)
  assert.equal(await statusOf(server, '/held', MIB), 429)
  assert.equal(await statusOf(server, '/upload', 8 * MIB), 200)
})

test('the sender is resolved once, and the rest of the body waits for it', async () => {
  const answers: ((sender: Sender) => void)[] = []
  const precheck = (): Promise<Sender> => new Promise((resolve) => answers.push(resolve))
  const plain: Handler = (exchange, body) => exchange.answer(200, 'text/plain', describe(body))
  const server = await start({}, [{ method: 'POST', path: '/asks', handler: plain, precheck }])
  const send = async (): Promise<RawClient> => {
    const client = await open(server)
    await client.send(head('/asks', 4 * MIB))
    void client.send(Buffer.alloc(4 * MIB, 97))
    await eventually('the head is asked', () => answers.length === 1)
    await sleep(50)
    return client
  }
  const customer = await send()
  answers.pop()?.('customer')
  assert.deepEqual(await customer.answers(1), [200])
  await eventually('the answer', () => customer.text.includes(describe(Buffer.alloc(4 * MIB, 97))))
  const stranger = await send()
  answers.pop()?.('stranger')
  assert.deepEqual(await stranger.answers(1), [413])
  const refused = await send()
  answers.pop()?.(new GatewayError('invalid_api_key'))
  assert.deepEqual(await refused.answers(1), [401])
  await customer.send('GET /served HTTP/1.1\r\nHost: x\r\n\r\n')
  assert.deepEqual(await customer.answers(2), [200, 200])
})

test('slow bodies without a key use no slot of customers', async () => {
  const server = await start({ strangerSlowBodiesMax: 2, bodyTimeoutMs: 30_000 })
  const begin = async (path: string): Promise<RawClient> => {
    const client = await open(server)
    await client.send(`${head(path, 10)}a`)
    return client
  }
  const strangers = await Promise.all([begin('/open'), begin('/open'), begin('/open')])
  const customer = await begin('/echo')
  await eventually('one is told', () => strangers.filter(({ text }) => text.includes('body_timeout')).length === 1)
  await sleep(500)
  assert.equal(strangers.filter(({ closed }) => closed).length, 1)
  await customer.send('a'.repeat(9))
  assert.deepEqual(await customer.answers(1), [200])
})
