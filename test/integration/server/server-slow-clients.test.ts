// Goal: a client that takes nothing for a while loses nothing of an answer, and one that takes nothing for too long is let go.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Exchange, Handler } from '../../../proxy/server/exchange.ts'
import type { RouteEntry } from '../../../proxy/server/routeTable.ts'
import { describe, eventually, startServer } from '../../support/parts/server.ts'

const MIB = 1_048_576
/** Longer than the server package lets a connection stand still. */
const STAND_STILL_MS = 13_000

/** Answers of more bytes than the sockets between take, and where in them their client stands still, in MiB. */
interface SlowRead {
  readonly name: string
  readonly handler: Handler
  readonly sent: readonly Buffer[]
  readonly stopsMiB: readonly number[]
}

/** @param stopsMiB after so many MiB each it takes nothing for a while */
async function readWithStops(port: number, path: string, stopsMiB: readonly number[]): Promise<string> {
  const request = get({ host: '127.0.0.1', port, path, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const stops = [...stopsMiB]
  const hash = createHash('sha256')
  let length = 0
  if (stops[0] === 0) await sleep(STAND_STILL_MS, stops.shift())
  for await (const data of response as AsyncIterable<Buffer>) {
    hash.update(data)
    length += data.length
    if (stops[0] !== undefined && length >= stops[0] * MIB) await sleep(STAND_STILL_MS, stops.shift())
  }
  return `${length} ${hash.digest('hex')}`
}

/** Writes a stream; a piece follows when the client has taken the one before, or without waiting for it. */
async function writeAll(exchange: Exchange, pieces: readonly Buffer[], waits: boolean): Promise<void> {
  let drained: () => void = () => undefined
  exchange.setDrainListener({ onDrain: () => drained() })
  for (const piece of pieces) {
    const drain = new Promise<void>((resolve) => {
      drained = resolve
    })
    if (!exchange.write(piece) && waits) await drain
  }
}

function slowReads(): SlowRead[] {
  const pieces = (count: number, bytes: number) => Array.from({ length: count }, () => randomBytes(bytes))
  const large = pieces(24, MIB)
  const small = pieces(2_000, 12_000)
  const text = Buffer.from(randomBytes(9 * MIB).toString('base64'))
  const ends = { 'an empty end': 0, 'a short end': 7, 'an end of one byte': 1, 'a large end': 12 * MIB }
  const stream = (
    name: string,
    sent: Buffer[],
    waits: boolean,
    last: Buffer,
    stopsMiB: readonly number[],
  ): SlowRead => ({
    name: `stream ${name}`,
    handler: async (exchange) => {
      exchange.beginStream()
      await writeAll(exchange, sent, waits)
      exchange.end(last)
    },
    sent: [...sent, last],
    stopsMiB,
  })
  const whole = (name: string, body: string | Buffer, stopsMiB: readonly number[]): SlowRead => ({
    name: `whole ${name}`,
    handler: (exchange) => exchange.answer(200, 'text/plain', body),
    sent: [Buffer.from(body)],
    stopsMiB,
  })
  return [
    ...Object.entries(ends).flatMap(([name, bytes]) =>
      [0, 1, 5, 9, 13].map((stop) => stream(`with ${name}, stop at ${stop}`, large, true, randomBytes(bytes), [stop])),
    ),
    ...[0, 1, 3, 5, 9, 13, 17, 21].map((stop) =>
      stream(`without waits, stop at ${stop}`, large, false, randomBytes(7), [stop]),
    ),
    stream('without waits, two stops', large, false, randomBytes(7), [2, 14]),
    ...[0, 6, 20].map((stop) => stream(`of small pieces, stop at ${stop}`, small, true, randomBytes(7), [stop])),
    ...[0, 1, 5, 11].map((stop) => whole(`text, stop at ${stop}`, String(text), [stop])),
    ...[0, 1, 7].map((stop) => whole(`bytes, stop at ${stop}`, Buffer.concat(large), [stop])),
    {
      name: 'begun and ended with a large body',
      handler: (exchange) => {
        exchange.beginStream()
        exchange.end(text)
      },
      sent: [text],
      stopsMiB: [1],
    },
    {
      name: 'with a pause of its own after a slow start',
      handler: async (exchange) => {
        exchange.beginStream()
        await writeAll(exchange, large, true)
        await sleep(STAND_STILL_MS)
        await writeAll(exchange, large, false)
        exchange.end(Buffer.from('the end'))
      },
      sent: [...large, ...large, Buffer.from('the end')],
      stopsMiB: [0, 25],
    },
  ]
}

test('a client that takes nothing for a while loses nothing of an answer', async (t) => {
  const reads = slowReads()
  const routes = reads.map(({ handler }, i): RouteEntry => ({ method: 'GET', path: `/${i}`, handler }))
  const { server, port } = await startServer({}, routes)
  t.after(() => server.end())
  const failed: string[] = []
  const read = async ({ name, sent, stopsMiB }: SlowRead, i: number) => {
    const got = await readWithStops(port, `/${i}`, stopsMiB).catch((error: unknown) => String(error))
    if (got !== describe(Buffer.concat(sent))) failed.push(`${name}: ${got}`)
  }
  await Promise.all(reads.map(read))
  assert.deepEqual(failed, [])
  assert.equal(server.open, 0)
})

test('what a stream has written reaches a client that becomes ready, before the stream writes more', async (t) => {
  const piece = randomBytes(16 * MIB)
  let end: () => void = () => undefined
  const handler: Handler = (exchange) => {
    exchange.setDrainListener({ onDrain: () => undefined })
    exchange.beginStream()
    exchange.write(piece)
    end = () => exchange.end(Buffer.alloc(0))
  }
  const { server, port } = await startServer({}, [{ method: 'GET', path: '/stream', handler }])
  t.after(() => server.end())
  const request = get({ host: '127.0.0.1', port, path: '/stream', agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let length = 0
  response.on('data', (data: Buffer) => {
    length += data.length
  })
  await eventually('all of it arrives', () => length === piece.length)
  end()
  await once(response, 'end')
  assert.equal(server.open, 0)
})

test('a client that takes nothing for longer than it may is let go', async (t) => {
  const gone: string[] = []
  const handler: Handler = (exchange) => {
    exchange.setGoneListener({ onGone: () => gone.push(exchange.id) })
    exchange.beginStream()
    while (exchange.write(Buffer.alloc(MIB)));
  }
  const { server, port } = await startServer({ readerStallMs: 1_000 }, [{ method: 'GET', path: '/stream', handler }])
  t.after(() => server.end())
  const request = get({ host: '127.0.0.1', port, path: '/stream', agent: false })
  request.on('error', () => undefined)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const since = performance.now()
  await eventually('the handler learns of it', () => gone.length === 1)
  assert.ok(performance.now() - since < 8_000, 'the gateway closes it, not the server package')
  assert.equal(server.open, 0)
  response.destroy()
})
