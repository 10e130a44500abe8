// Goal: the gateway's own HTTP client reads answers as undici does, or refuses them; it never hangs, and never gives one
// request the bytes of another. Method: a raw server plays answers, sound ones in random pieces and mutated ones, to both.
import assert from 'node:assert/strict'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { SocketTransport } from '../../../proxy/upstream/socketTransport.ts'
import { HeaderBlock } from '../../../proxy/upstream/transport/headerBlock.ts'
import type { Transport, TransportFailure, UpstreamHeaders } from '../../../proxy/upstream/transport/transport.ts'
import { UndiciTransport } from '../../../proxy/upstream/undiciTransport.ts'
import { limits } from '../../support/limits.ts'
import { itemOf } from '../../support/present.ts'
import { rounds } from '../../support/rounds.ts'

interface Verdict {
  readonly status: number
  readonly body: string
  readonly header: string | undefined
}

/** What the server does for a request path: pieces to write, and whether it ends the connection after them. */
interface Script {
  readonly pieces: readonly Buffer[]
  readonly end: boolean
}

let server: Server
let origin = ''
const scripts = new Map<string, Script>()
const sockets = new Set<Socket>()
const own = new SocketTransport(limits)
const reference = new UndiciTransport(limits)

before(async () => {
  server = createServer((socket) => {
    sockets.add(socket)
    let seen = ''
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (data) => {
      seen += data.toString('latin1')
      for (let end = seen.indexOf('\r\n\r\n'); end >= 0; end = seen.indexOf('\r\n\r\n')) {
        const path = itemOf(seen.split(' '), 1)
        seen = seen.slice(end + 4)
        play(socket, scripts.get(path)).catch(() => socket.destroy())
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

after(async () => {
  await Promise.all([own.close(), reference.close()])
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

async function play(socket: Socket, script: Script | undefined): Promise<void> {
  for (const piece of script?.pieces ?? []) {
    socket.write(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (script?.end === true) socket.end()
}

/** Longer than this process, which is client and server, stands still on a busy machine. */
const SILENCE_MS = 3_000
let nextPath = 0

function ask(transport: Transport, script: Script, silenceMs = 60_000): Promise<Verdict | TransportFailure> {
  const path = `/${nextPath++}`
  scripts.set(path, script)
  return new Promise((resolve) => {
    let status = 0
    let header: string | undefined
    const parts: Buffer[] = []
    transport.send(
      {
        origin,
        host: origin.slice(7),
        path,
        method: 'GET',
        headers: new HeaderBlock(['x-a', 'b']),
        requestId: 'req_test',
        body: null,
        fresh: false,
        connectTimeoutMs: 60_000,
        firstByteTimeoutMs: silenceMs,
        idleTimeoutMs: silenceMs,
        totalTimeoutMs: 60_000,
      },
      {
        onHead: (code: number, headers: UpstreamHeaders) => {
          status = code
          header = headers.get('x-mark')
        },
        onData: (bytes) => parts.push(Buffer.from(bytes)),
        onEnd: () => resolve({ status, body: Buffer.concat(parts).toString('latin1'), header }),
        onFailure: (failure) => resolve(failure),
      },
    )
  })
}

const payload = fc.string({ unit: fc.constantFrom('a', '\r', '\n', '0', ';', 'HTTP/1.1 200 OK', '{}'), maxLength: 40 })
const headerLines = fc.array(fc.constantFrom('X-Mark: one', 'Server: x', 'x-empty:', 'Date:now'), { maxLength: 4 })

/** A sound answer: its bytes, and what a reader must make of it. */
const sound = fc
  .record({
    status: fc.constantFrom(200, 201, 204, 400, 429, 500),
    lines: headerLines,
    body: payload,
    framing: fc.constantFrom('length', 'chunked', 'close'),
    chunks: fc.array(fc.nat(20), { maxLength: 5 }),
    interim: fc.boolean(),
    trailer: fc.boolean(),
    close: fc.boolean(),
  })
  .map((parts) => {
    const empty = parts.status === 204
    const lines = [...parts.lines, ...(parts.close ? ['Connection: close'] : [])]
    if (!empty && parts.framing === 'length') lines.push(`Content-Length: ${parts.body.length}`)
    if (!empty && parts.framing === 'chunked') lines.push('Transfer-Encoding: chunked')
    const head = `HTTP/1.1 ${parts.status} Some Words\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`
    const body = empty
      ? ''
      : parts.framing === 'chunked'
        ? chunked(parts.body, parts.chunks, parts.trailer)
        : parts.body
    const end = parts.close || (!empty && parts.framing === 'close')
    return { text: (parts.interim ? 'HTTP/1.1 103 Early\r\nX-Mark: no\r\n\r\n' : '') + head + body, end, parts, empty }
  })

function chunked(body: string, sizes: readonly number[], trailer: boolean): string {
  let text = ''
  let from = 0
  for (const size of [...sizes, body.length]) {
    const piece = body.slice(from, from + size)
    from += piece.length
    if (piece !== '') text += `${piece.length.toString(16)}${size % 2 === 1 ? ';ext=1' : ''}\r\n${piece}\r\n`
  }
  return `${text}0\r\n${trailer ? 'X-Trailer: 1\r\n' : ''}\r\n`
}

const cuts = fc.array(fc.nat(400), { maxLength: 6 })

function pieces(text: string, places: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text, 'latin1')
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...sorted]
    .map((from, i) => bytes.subarray(from, sorted[i] ?? bytes.length))
    .filter((part) => part.length > 0)
}

test('valid responses are read whole for any segmentation', async () => {
  await fc.assert(
    fc.asyncProperty(sound, cuts, async ({ text, end, parts, empty }, places) => {
      const verdict = await ask(own, { pieces: pieces(text, places), end })
      assert.deepEqual(verdict, {
        status: parts.status,
        body: empty ? '' : parts.body,
        header: parts.lines.includes('X-Mark: one') ? 'one' : undefined,
      })
    }),
    { numRuns: rounds({ short: 60, long: 1_000 }) },
  )
})

test('mutated responses are rejected, or read as undici reads them', async () => {
  const mutation = fc.record({ at: fc.nat(1_000), kind: fc.constantFrom('drop', 'double', 'swap', 'cut', 'insert') })
  const byte = fc.constantFrom('\r', '\n', '\0', ' ', ':', 'f', '0', '9', ',')
  await fc.assert(
    fc.asyncProperty(
      sound,
      fc.array(mutation, { minLength: 1, maxLength: 3 }),
      byte,
      cuts,
      async (answer, edits, add, places) => {
        let { text } = answer
        for (const { at, kind } of edits) text = mutate(text, at % (text.length + 1), kind, add)
        const script = (sent: string) => ({ pieces: pieces(sent, places), end: true })
        // A client may ignore a 100 that it did not ask for (RFC 9110, 15.2), which undici takes for a broken answer.
        const forUndici = text.replace(/^HTTP\/1\.1 100(?=[ \r])/, 'HTTP/1.1 102')
        const [mine, theirs] = await Promise.all([ask(own, script(text)), ask(reference, script(forUndici))])
        if (mine instanceof Error) return
        assert.ok(
          !(theirs instanceof Error),
          `undici refuses what was read as ${JSON.stringify(mine)}: ${JSON.stringify(text)}`,
        )
        assert.deepEqual([mine.status, mine.body], [theirs.status, theirs.body], JSON.stringify(text))
      },
    ),
    { numRuns: rounds({ short: 80, long: 1_000 }) },
  )
})

function mutate(text: string, at: number, kind: string, add: string): string {
  if (kind === 'drop') return text.slice(0, at) + text.slice(at + 1)
  if (kind === 'double') return text.slice(0, at) + text.slice(at, at + 4) + text.slice(at)
  if (kind === 'swap') return text.slice(0, at) + add + text.slice(at + 1)
  if (kind === 'cut') return text.slice(0, at)
  return text.slice(0, at) + add + text.slice(at)
}

const MALFORMED = [
  '',
  'HTTP/1.1 200\r\nContent-Length: 1, 1\r\n\r\na',
  'HTTP/1.1 200 OK\nContent-Length: 1\n\na',
  'HTTP/2 200 OK\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
  'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc',
  'HTTP/1.1 200 OK\r\nContent-Length : 3\r\n\r\nabc',
  'HTTP/1.1 200 OK\r\n folded\r\nContent-Length: 3\r\n\r\nabc',
  'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  `HTTP/1.1 200 OK\r\nX: ${'y'.repeat(70_000)}\r\n\r\n`,
  '<html>hello</html>',
]

test('known malformed responses fail', async () => {
  for (const text of MALFORMED) {
    const verdict = await ask(own, { pieces: [Buffer.from(text)], end: true })
    assert.ok(verdict instanceof Error, `${JSON.stringify(text.slice(0, 90))} was read as ${JSON.stringify(verdict)}`)
  }
})

test('silence times out, at the head and in the body', async () => {
  const kinds = await Promise.all([
    ask(own, { pieces: [], end: false }, SILENCE_MS),
    ask(own, { pieces: [Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab')], end: false }, SILENCE_MS),
  ])
  assert.deepEqual(
    kinds.map((kind) => (kind instanceof Error ? Reflect.get(kind, 'kind') : kind)),
    ['first_byte_timeout', 'idle_timeout'],
  )
})

test('bytes after a response never reach the next request', async () => {
  const answer = (body: string, extra = '') => ({
    pieces: [Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}${extra}`)],
    end: false,
  })
  for (let i = 0; i < 50; i++) {
    const extra = i % 2 === 0 ? 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret' : ''
    const verdict = await ask(own, answer(`answer ${i}`, extra))
    assert.ok(!(verdict instanceof Error))
    assert.equal(verdict.body, `answer ${i}`)
  }
})

test('concurrent requests on kept-alive connections each get their own response', async () => {
  const bodies = Array.from({ length: 500 }, (_, i) => `body ${i} ${'x'.repeat(i)}`)
  for (let round = 0; round < 3; round++) {
    const verdicts = await Promise.all(
      bodies.map((body, i) => {
        const text = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunked(body, [i % 7, 3], i % 3 === 0)}`
        return ask(own, { pieces: pieces(text, [i, i * 3]), end: false })
      }),
    )
    assert.deepEqual(
      verdicts.map((verdict) => (verdict instanceof Error ? verdict : verdict.body)),
      bodies,
    )
  }
})
