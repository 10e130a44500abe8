// Goal: no request can be hidden behind one whose length is in doubt (RFC 9112 section 6.3).
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, RawClient, startServer, type TestServer } from '../../support/parts/server.ts'

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

/** Sends pieces and waits until the server has closed the connection. */
async function play(pieces: readonly string[]): Promise<RawClient> {
  const client = await RawClient.open(server.port)
  for (const piece of pieces) {
    await client.send(piece)
    await sleep(30)
  }
  await eventually('the server closes', () => client.closed).finally(() => client.leave())
  return client
}

for (const [headers, rest] of FAULTS) {
  const name = `${JSON.stringify(headers)} before ${rest.length} bytes`

  test(`${name} in one segment: nothing behind it is served`, async () => {
    const { text } = await play([`${START}${headers}\r\n${rest}`])
    // The server package closes without an answer when it finds a second request while the first is open.
    assert.ok(text === '' || /^HTTP\/1\.1 400 /.test(text), text)
    assert.equal(text.split('HTTP/1.1 ').length, text === '' ? 1 : 2, text)
    assert.deepEqual(server.served, [])
    assert.equal(server.server.open, 0)
  })

  test(`${name} in two segments: one answer, then the end`, async () => {
    const client = await play([`${START}${headers}\r\n`, rest])
    assert.deepEqual(client.statuses(), [400])
    assert.deepEqual(server.served, [])
    assert.equal(server.server.open, 0)
  })
}

test('requests that follow each other in one segment are served when their lengths are sound', async () => {
  for (const headers of ['Content-Length: 2\r\n\r\n{}', 'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n']) {
    const client = await RawClient.open(server.port)
    await client.send(START + headers + HIDDEN)
    const statuses = await client.answers(2).finally(() => client.leave())
    assert.deepEqual(statuses, [200, 200])
  }
  assert.deepEqual(server.served, ['/echo', '/served', '/echo', '/served'])
})
