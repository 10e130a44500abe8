// Goal: what a handler sends arrives whole at a client that reads slowly, and a client that breaks off is noticed.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Handler } from '../../../proxy/server/exchange.ts'
import { describe, eventually, RawClient, readTurns, startServer } from '../../support/parts/server.ts'

const MIB = 1_048_576
const CHUNKED_BODY = 'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'
const PAUSES = 20
const PAUSE_MS = 20

/** Reads an answer with pauses, so that the sockets between fill up. */
async function readSlowly(port: number, path: string): Promise<{ response: IncomingMessage; read: string }> {
  const request = get({ host: '127.0.0.1', port, path, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const hash = createHash('sha256')
  let length = 0
  let pauses = 0
  await sleep(200)
  for await (const data of response as AsyncIterable<Buffer>) {
    hash.update(data)
    length += data.length
    if (pauses++ < PAUSES) await sleep(PAUSE_MS)
  }
  return { response, read: `${length} ${hash.digest('hex')}` }
}

test('a large response arrives whole at a slow reader', async (t) => {
  const body = randomBytes(8 * MIB)
  const handler: Handler = (exchange) => exchange.answer(200, 'application/octet-stream', body, ['x-cost-units', '7'])
  const { server, port } = await startServer({}, [{ method: 'GET', path: '/large', handler }])
  t.after(() => server.close())
  const { response, read } = await readSlowly(port, '/large')
  assert.equal(read, describe(body))
  assert.deepEqual([response.headers['content-length'], response.headers['x-cost-units']], [String(body.length), '7'])
  assert.equal(server.open, 0)
})

test('a stream of large writes arrives whole at a slow reader', async (t) => {
  const sizes = [1, 16_383, 16_384, 16_385, 300_000, 5, 1_000_000, 20_000, 2 * MIB, 3, 65_536, MIB]
  const pieces = sizes.map((size) => randomBytes(size))
  let waits = 0
  const handler: Handler = async (exchange) => {
    let drained: () => void = () => undefined
    exchange.setDrainListener({ onDrain: () => drained() })
    exchange.beginStream()
    for (const piece of pieces) {
      const drain = new Promise<void>((resolve) => {
        drained = resolve
      })
      if (exchange.write(piece)) continue
      waits++
      await drain
    }
    exchange.end(Buffer.from('the end'))
  }
  const { server, port, refused } = await startServer({}, [{ method: 'GET', path: '/stream', handler }])
  t.after(() => server.close())
  const { response, read } = await readSlowly(port, '/stream')
  assert.equal(read, describe(Buffer.concat([...pieces, Buffer.from('the end')])))
  assert.equal(response.headers['content-type'], 'text/event-stream; charset=utf-8')
  assert.ok(waits > 0, 'the reader was slow enough to hold the stream up')
  assert.deepEqual([refused, server.open], [[], 0])
})

test('consecutive writes without a pause also arrive whole', async (t) => {
  const pieces = Array.from({ length: 40 }, (_, i) => randomBytes(1 + ((i * 37_501) % 200_000)))
  const handler: Handler = (exchange) => {
    exchange.beginStream()
    for (const piece of pieces) exchange.write(piece)
    exchange.end(Buffer.alloc(0))
  }
  const later: Handler = (exchange) => void setTimeout(() => handler(exchange, Buffer.alloc(0)), 10)
  const { server, port } = await startServer({}, [{ method: 'GET', path: '/stream', handler: later }])
  t.after(() => server.close())
  const { read } = await readSlowly(port, '/stream')
  assert.equal(read, describe(Buffer.concat(pieces)))
})

const KEPT = 'the body of the answer'

/** Answers without a body, and the length that they state. */
const BODILESS: ReadonlyArray<readonly [asked: string, status: number, length: RegExp | undefined]> = [
  ['HEAD /kept', 200, new RegExp(`^content-length: ${KEPT.length}$`, 'im')],
  ['HEAD /unmade', 200, undefined],
  ['HEAD /nowhere', 404, /^content-length: [1-9]\d*$/im],
  ['HEAD /echo', 405, /^content-length: [1-9]\d*$/im],
  ['GET /unchanged', 304, new RegExp(`^content-length: ${KEPT.length}$`, 'im')],
]

test('a connection serves the next request after an answer without a body, and ends where the client asks for it', async (t) => {
  const answers = (status: number, body: string): Handler => {
    return (exchange) => exchange.answer(status, 'text/plain', body)
  }
  const { server, port } = await startServer({}, [
    { method: 'GET', path: '/kept', handler: answers(200, KEPT) },
    { method: 'GET', path: '/unmade', handler: answers(200, '') },
    { method: 'GET', path: '/unchanged', handler: answers(304, KEPT) },
  ])
  t.after(() => server.close())
  for (const [asked, status, length] of BODILESS) {
    const client = await RawClient.open(port)
    t.after(() => client.leave())
    await client.send(`${asked} HTTP/1.1\r\nHost: x\r\n\r\n`)
    assert.deepEqual(await client.answers(1), [status], asked)
    const head = client.text
    assert.ok(head.endsWith('\r\n\r\n'), head)
    assert.equal(head.match(/^content-length:/gim)?.length, length === undefined ? undefined : 1, head)
    if (length !== undefined) assert.match(head, length)
    await client.send('GET /kept HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    assert.deepEqual(await client.answers(2), [status, 200], asked)
    const last = await RawClient.open(port)
    t.after(() => last.leave())
    await last.send(`${asked} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    await eventually(`${asked}: the server closes`, () => last.closed)
    assert.deepEqual(last.statuses(), [status], asked)
  }
})

test('a second request on the connection of a running stream ends both; the stream is notified', async (t) => {
  let told = 0
  const handler: Handler = (exchange) => {
    exchange.setGoneListener({ onGone: () => told++ })
    exchange.beginStream()
    exchange.write(Buffer.from('data: 1\n\n'))
  }
  const { server, port, served } = await startServer({}, [{ method: 'GET', path: '/stream', handler }])
  t.after(() => server.close())
  const client = await RawClient.open(port)
  t.after(() => client.leave())
  await client.send('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually('the stream begins', () => client.text.includes('data: 1'))
  await client.send('GET /served HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually('the server closes', () => client.closed)
  assert.deepEqual([told, served, server.open], [1, [], 0])
  assert.deepEqual(client.statuses(), [200])
})

// The streams of a process share one buffer for what leaves, so that its content changes when the call returns.
for (const [body, head] of Object.entries({ 'Content-Length': 'Content-Length: 2\r\n\r\n{}', chunked: CHUNKED_BODY })) {
  for (const way of ['answer', 'write', 'end'] as const) {
    test(`memory that a handler lends may change after the call: ${way}, request body ${body}`, async (t) => {
      const handler: Handler = (exchange) => {
        const lent = Buffer.from('own')
        if (way === 'answer') exchange.answer(200, 'text/plain', lent)
        else {
          exchange.beginStream()
          exchange[way](lent)
          if (way === 'write') exchange.end(Buffer.alloc(0))
        }
        lent.fill('x')
      }
      const { server, port } = await startServer({}, [{ method: 'POST', path: '/lent', handler }])
      t.after(() => server.close())
      const client = await RawClient.open(port)
      await client.send(`POST /lent HTTP/1.1\r\nHost: x\r\n${head}`)
      await eventually('the answer', () => /own|xxx/.test(client.text)).finally(() => client.leave())
      assert.match(client.text, /own/)
    })
  }
}

for (const [body, head] of Object.entries({ 'Content-Length': 'Content-Length: 2\r\n\r\n{}', chunked: CHUNKED_BODY })) {
  test(`a stream that goes on after its first bytes arrives whole, request body ${body}`, async (t) => {
    const handler: Handler = async (exchange) => {
      exchange.beginStream()
      for (const piece of ['one', 'two']) {
        exchange.write(Buffer.from(piece))
        await readTurns()
      }
      exchange.end(Buffer.from('three'))
    }
    const { server, port } = await startServer({}, [{ method: 'POST', path: '/stream', handler }])
    t.after(() => server.close())
    const client = await RawClient.open(port)
    await client.send(`POST /stream HTTP/1.1\r\nHost: x\r\n${head}`)
    await eventually('the end', () => client.text.endsWith('0\r\n\r\n')).finally(() => client.leave())
    const [answerHead = '', ...rest] = client.text.split('\r\n\r\n')
    assert.equal(rest.join('\r\n\r\n').trim(), '3\r\none\r\n3\r\ntwo\r\n5\r\nthree\r\n0')
    assert.equal(/connection: close/i.test(answerHead), body === 'chunked')
    assert.equal(server.open, 0)
  })
}
