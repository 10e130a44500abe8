// Goal: request bodies arrive as they were sent, and what strangers send cannot take the memory of the process.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import {
  describe,
  eventually,
  memoryInUse,
  RawClient,
  readTurns,
  startServer,
  type TestServer,
} from '../../support/parts/server.ts'

const MIB = 1_048_576
const KEY = 'Authorization: Bearer sk_some_key\r\n'

const announced = (path: string, length: number, headers = '') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: ${length}\r\n\r\n`
const chunked = (path: string, headers = '') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Transfer-Encoding: chunked\r\n\r\n`
const chunk = (bytes: Uint8Array) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])

async function withServer(
  changes: Parameters<typeof startServer>[0],
  run: (server: TestServer, open: () => Promise<RawClient>) => Promise<void>,
): Promise<void> {
  const server = await startServer(changes)
  const clients: RawClient[] = []
  const open = async () => {
    const client = await RawClient.open(server.port)
    clients.push(client)
    return client
  }
  try {
    await run(server, open)
  } finally {
    for (const client of clients) client.leave()
    server.server.close()
  }
}

/** Sends the head of an announced body and so many bytes of it. */
async function sendPart(client: RawClient, head: string, bytes: number): Promise<void> {
  await client.send(head)
  await client.send(Buffer.alloc(bytes, 97))
}

test('a body arrives as it was sent for any segmentation', async () => {
  await withServer({}, async (_, open) => {
    const sizes = fc.array(fc.integer({ min: 1, max: 90_000 }), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(sizes, fc.boolean(), async (lengths, known) => {
        const pieces = lengths.map((length) => randomBytes(length))
        const body = Buffer.concat(pieces)
        const client = await open()
        await client.send(known ? announced('/echo', body.length) : chunked('/echo'))
        for (const piece of pieces) {
          await client.send(known ? piece : chunk(piece))
          await sleep(1)
        }
        if (!known) await client.send('0\r\n\r\n')
        assert.deepEqual(await client.answers(1), [200])
        await eventually('the body of the answer', () => client.text.includes(describe(body)))
        client.leave()
      }),
      { numRuns: 30 },
    )
  })
})

test('a sender that disconnects releases its memory', async () => {
  await withServer({ bodyTimeoutMs: 20_000 }, async ({ server }, open) => {
    const before = await memoryInUse()
    for (let i = 0; i < 12; i++) {
      const client = await open()
      await sendPart(client, announced('/echo', 20 * MIB), 8 * MIB)
      await sleep(20)
      client.leave()
    }
    await eventually('the server knows', () => server.open === 0)
    const kept = (await memoryInUse()) - before
    assert.ok(kept < 8 * MIB, `${kept} bytes are kept for senders that have left`)
  })
})

test('an announced length reserves no memory before the bytes arrive', async () => {
  await withServer({}, async ({ server }, open) => {
    const before = await memoryInUse()
    for (let i = 0; i < 40; i++) await sendPart(await open(), announced('/echo', 20 * MIB), 1_000)
    await eventually('all are open', () => server.open === 40)
    await readTurns()
    const kept = (await memoryInUse()) - before
    assert.ok(kept < 8 * MIB, `${kept} bytes for 40 bodies of 1000 bytes`)
  })
})

test('chunks of one byte use about one byte of memory each', async () => {
  const chunks = 300_000
  await withServer({ bodyPiecesMax: chunks + 10 }, async (_, open) => {
    const before = await memoryInUse()
    const client = await open()
    await client.send(chunked('/echo'))
    for (let sent = 0; sent < chunks; sent += 10_000) await client.send('1\r\na\r\n'.repeat(10_000))
    await readTurns()
    const kept = (await memoryInUse()) - before
    assert.ok(kept < 8 * MIB, `${kept} bytes for ${chunks} chunks of one byte`)
    await client.send('0\r\n\r\n')
    assert.deepEqual(await client.answers(1), [200])
  })
})

test('a body in too many chunks is rejected', async () => {
  await withServer({ bodyPiecesMax: 1_000 }, async ({ served, refused }, open) => {
    const client = await open()
    await client.send(chunked('/echo') + '1\r\na\r\n'.repeat(1_001))
    assert.deepEqual(await client.answers(1), [400])
    assert.match(client.text, /too many small chunks/)
    assert.deepEqual([served, refused], [[], ['invalid_request']])
  })
})

test('all incoming bodies share one memory limit', async () => {
  await withServer({ bodyBytesOpenMax: 3 * MIB }, async ({ server, refused }, open) => {
    const first = await open()
    await sendPart(first, announced('/echo', 2 * MIB), 2 * MIB - 1)
    await readTurns()
    const second = await open()
    await sendPart(second, announced('/echo', 2 * MIB), 2 * MIB)
    assert.deepEqual(await second.answers(1), [503])
    assert.match(second.text, /too_many_requests_open/)
    assert.match(second.text, /retry-after: 1\r\n/)
    await first.send('a')
    assert.deepEqual(await first.answers(1), [200])
    assert.deepEqual(refused, ['too_many_requests_open'])
    const third = await open()
    await sendPart(third, announced('/echo', 2 * MIB), 2 * MIB)
    assert.deepEqual(await third.answers(1), [200])
    assert.equal(server.open, 0)
  })
})

test('concurrent large bodies are bounded; the connection of a rejected one stays usable', async () => {
  await withServer({ largeBodiesMax: 1 }, async ({ server }, open) => {
    const first = await open()
    await sendPart(first, announced('/echo', 2 * MIB), 2 * MIB - 1)
    await readTurns()
    const small = await open()
    await sendPart(small, announced('/echo', MIB), MIB)
    assert.deepEqual(await small.answers(1), [200])
    const second = await open()
    await sendPart(second, announced('/echo', 3 * MIB), 3 * MIB)
    assert.deepEqual(await second.answers(1), [429])
    assert.match(second.text, /too_many_uploads/)
    assert.match(second.text, /retry-after: 1\r\n/)
    first.leave()
    await eventually('the server knows', () => server.open === 0)
    await sendPart(second, announced('/echo', 3 * MIB), 3 * MIB)
    assert.deepEqual(await second.answers(2), [429, 200])
    assert.match(second.text, new RegExp(describe(Buffer.alloc(3 * MIB, 97))))
  })
})

test('without a credential only the start of a body is read', async () => {
  await withServer({}, async ({ served, refused }, open) => {
    for (const header of ['', 'Authorization: Bearer nonsense\r\n', 'x-api-key: ses_abc\r\n']) {
      const client = await open()
      await sendPart(client, announced('/keyed', 10 * MIB, header), 100_000)
      const [status] = await client.answers(1)
      assert.equal(status, header.includes('ses_') ? 403 : 401)
      const other = await open()
      await other.send(chunked('/keyed', header))
      await other.send(chunk(Buffer.alloc(100_000)))
      assert.deepEqual(await other.answers(1), [status])
      await eventually('a body of unknown length is not read on', () => other.closed)
    }
    assert.deepEqual(served, [])
    assert.equal(refused.length, 6)
    const small = await open()
    await sendPart(small, announced('/keyed', 60_000), 60_000)
    assert.deepEqual(await small.answers(1), [200], 'a small body is for the handler to judge')
    for (const header of [KEY, 'x-api-key: sk_some_key\r\n']) {
      const client = await open()
      await sendPart(client, announced('/keyed', 2 * MIB, header), 2 * MIB)
      assert.deepEqual(await client.answers(1), [200])
    }
  })
})

test('a body that trickles in times out', async () => {
  await withServer({ bodyTimeoutMs: 400 }, async ({ refused, server }, open) => {
    const silent = await open()
    await silent.send(announced('/echo', 1_000))
    const client = await open()
    await client.send(announced('/echo', 1_000))
    let pieces = 0
    for (; !client.closed && pieces < 100; pieces++) {
      await client.send('a')
      await sleep(40)
    }
    assert.deepEqual(client.statuses(), [408])
    // Ten fit into its time; server and client are one process, so that both stand still at once.
    assert.ok(pieces < 40, `${pieces} pieces were taken`)
    assert.deepEqual(await silent.answers(1), [408])
    assert.deepEqual([refused, server.open], [['body_timeout', 'body_timeout'], 0])
  })
})

test('a body over the limit for JSON is rejected, announced or not', async () => {
  await withServer({ jsonBodyBytesMax: 2 * MIB }, async ({ served }, open) => {
    const known = await open()
    await known.send(announced('/echo', 2 * MIB + 1))
    assert.deepEqual(await known.answers(1), [413])
    assert.match(known.text, /larger than 2097152 bytes/)
    const unknown = await open()
    await unknown.send(chunked('/echo'))
    for (let i = 0; i < 5; i++) await unknown.send(chunk(Buffer.alloc(MIB / 2)))
    assert.deepEqual(await unknown.answers(1), [413])
    const whole = await open()
    await sendPart(whole, announced('/echo', 2 * MIB), 2 * MIB)
    assert.deepEqual(await whole.answers(1), [200])
    assert.deepEqual(served, ['/echo'])
  })
})
