// Goal: no request can be hidden behind one whose length is in doubt (RFC 9112 section 6.3).
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { eventually, RawClient, readTurns, startServer, type TestServer } from '../../support/parts/server.ts'

const HIDDEN = 'GET /served HTTP/1.1\r\nHost: x\r\n\r\n'
const AFTER_CHUNKS = `0\r\n\r\n${HIDDEN}`
const START = 'POST /echo HTTP/1.1\r\nHost: x\r\n'

/** Length headers that are at fault, and what follows the head. */
const FAULTS: ReadonlyArray<readonly [headers: string, rest: string]> = [
  [`Content-Length: 0\r\nContent-Length: ${HIDDEN.length}\r\n`, HIDDEN],
  [`Content-Length: ${HIDDEN.length}\r\nContent-Length: 0\r\n`, HIDDEN],
  ['Content-Length: 0\r\nContent-Length: 0\r\n', HIDDEN],
  ['Content-Length:\r\n', HIDDEN],
  ['Content-Length: 0x5\r\n', HIDDEN],
  ['Content-Length: -5\r\n', HIDDEN],
  [`Content-Length: 0, ${HIDDEN.length}\r\n`, HIDDEN],
  [`Content-Length: ${AFTER_CHUNKS.length}\r\nTransfer-Encoding: chunked\r\n`, AFTER_CHUNKS],
  [`Transfer-Encoding: chunked\r\nContent-Length: ${AFTER_CHUNKS.length}\r\n`, AFTER_CHUNKS],
  ['Transfer-Encoding: gzip, chunked\r\n', AFTER_CHUNKS],
  ['Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', AFTER_CHUNKS],
  ['Transfer-Encoding: xchunked\r\n', AFTER_CHUNKS],
  ['Transfer-Encoding: xchunked\r\n', HIDDEN],
  [`Transfer-Encoding: xchunked\r\nContent-Length: ${AFTER_CHUNKS.length}\r\n`, AFTER_CHUNKS],
]

let server: TestServer

before(async () => {
  server = await startServer()
})
beforeEach(() => {
  server.served.length = 0
})
after(() => server.server.close())

/** Sends pieces and waits until the server has closed the connection. @param pause what is waited for between two pieces */
async function play(
  pieces: readonly string[],
  pause: (client: RawClient) => Promise<unknown> = readTurns,
): Promise<RawClient> {
  const client = await RawClient.open(server.port)
  for (const [i, piece] of pieces.entries()) {
    if (i > 0) await pause(client)
    await client.send(piece)
  }
  await eventually('the server closes', () => client.closed).finally(() => client.leave())
  return client
}

for (const [headers, rest] of FAULTS) {
  const name = `${JSON.stringify(headers)} before ${rest.length} bytes`

  test(`${name} in one segment: no request after it is served`, async () => {
    const { text } = await play([`${START}${headers}\r\n${rest}`])
    // The server package closes without an answer when it finds a second request while the first is open.
    assert.ok(text === '' || /^HTTP\/1\.1 400 /.test(text), text)
    assert.equal(text.split('HTTP/1.1 ').length, text === '' ? 1 : 2, text)
    assert.deepEqual(server.served, [])
    assert.equal(server.server.open, 0)
  })

  test(`${name} in two segments: one response, then the connection is closed`, async () => {
    const client = await play([`${START}${headers}\r\n`, rest], (one) => one.answers(1))
    assert.deepEqual(client.statuses(), [400])
    assert.deepEqual(server.served, [])
    assert.equal(server.server.open, 0)
  })
}

test('consecutive requests in one segment are served if their lengths are valid', async () => {
  const client = await RawClient.open(server.port)
  await client.send(`${START}Content-Length: 2\r\n\r\n{}${HIDDEN}`)
  const statuses = await client.answers(2).finally(() => client.leave())
  assert.deepEqual(statuses, [200, 200])
  assert.deepEqual(server.served, ['/echo', '/served'])
})

/**
 * Bodies in chunks that the server package takes for others than they are. It takes any two bytes for the end of a chunk,
 * so that a trailer becomes a request, and a chunk extension for digits of the size.
 */
const CHUNKED = `${START}Transfer-Encoding: chunked\r\n\r\n`
const ODD_CHUNKS: ReadonlyArray<readonly [what: string, pieces: readonly string[]]> = [
  ['no oddity', [CHUNKED, '2\r\n{}\r\n0\r\n\r\n']],
  ['a trailer that is a request', [CHUNKED, '2\r\n{}\r\n0\r\nX:']],
  [
    'a coding with a byte that is trimmed',
    [`${START}Transfer-Encoding: chunked\u00a0\r\n\r\n`, '2\r\n{}\r\n0\r\n\r\n'],
  ],
  ['a path that is not served', [CHUNKED.replace('/echo', '/nowhere'), '2\r\n{}\r\n0\r\nX:']],
  ['a method that is not served', [CHUNKED.replace('POST', 'PUT'), '2\r\n{}\r\n0\r\nX:']],
]
for (const [what, [head = '', body = '']] of ODD_CHUNKS) {
  for (const [split, pieces] of Object.entries({
    'in one segment': [head + body + HIDDEN],
    'with the rest in a second segment': [head + body, HIDDEN],
    'with the body in a second segment': [head, body + HIDDEN],
  })) {
    test(`a body in chunks, ${what}, ${split}: no request after it is served`, async () => {
      const { text } = await play(pieces)
      assert.ok(text.split('HTTP/1.1 ').length <= 2, text)
      if (text !== '') assert.match(text, /connection: close/i)
      assert.ok(!server.served.includes('/served'), text)
      assert.equal(server.server.open, 0)
    })
  }
}

test('a body in chunks is answered, and its connection closed', async () => {
  const client = await play([`${CHUNKED}2\r\n{}\r\n0\r\n\r\n`])
  assert.deepEqual(client.statuses(), [200])
})

test('a chunk extension ends in 408 or 400, and no request after it is served', async () => {
  const slow = await startServer({ bodyTimeoutMs: 500 })
  // What is answered at once must not be met by the time for a body on a machine that is busy.
  const patient = await startServer({ bodyTimeoutMs: 60_000 })
  try {
    for (const [asked, extension, expected] of [
      [slow, ';a=b', /^HTTP\/1\.1 408 [\s\S]*x-request-id: req_[\s\S]*"body_timeout"/],
      [slow, ';a=1', /^HTTP\/1\.1 408 [\s\S]*x-request-id: req_[\s\S]*"body_timeout"/],
      [patient, ';name=value', /^HTTP\/1\.1 400 /],
      [patient, ';a="b"', /^HTTP\/1\.1 400 /],
    ] as const) {
      const client = await RawClient.open(asked.port)
      await client.send(`${CHUNKED}2${extension}\r\n{}\r\n0\r\n\r\n`)
      await readTurns()
      await client.send(HIDDEN)
      await eventually('the server closes', () => client.closed).finally(() => client.leave())
      assert.match(client.text, expected)
      assert.deepEqual(asked.served, [])
    }
  } finally {
    for (const { server } of [slow, patient]) server.close()
  }
})
