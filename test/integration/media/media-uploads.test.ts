// Goal: uploads take bounded memory, which is theirs until their requests have ended, and each way to get one wrong has
// an answer.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BodyLease, Handler } from '../../../proxy/server/exchange.ts'
import { assertError, type Reply } from '../../support/clients/chatClient.ts'
import { answered, mediaModel, postForm } from '../../support/clients/mediaClient.ts'
import { eventually, memoryInUse, RawClient, startServer } from '../../support/parts/server.ts'
import { wavFile } from '../../support/samples/audio.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const MIB = 1_048_576
const T = 'test/transcription'

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    limits: { bodyBytesMax: 6 * MIB, jsonBodyBytesMax: MIB, uploadBytesOpenMax: 8 * MIB },
    catalog: {
      models: [
        mediaModel(T, 'transcription'),
        mediaModel('test/slow', 'transcription', 'mock,slow_headers=3000'),
        mediaModel('test/image', 'image'),
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})
after(() => stack.finish())

const url = (path = 'audio/transcriptions') => `${stack.baseUrl}/v1/${path}`
const transcribe = (file: Buffer, model = T) => postForm(url(), apiKey, { model, file })

async function post(body: string | Buffer, contentType: string, path?: string): Promise<Reply> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': contentType }
  const response = await fetch(url(path), { method: 'POST', headers, body: new Uint8Array(Buffer.from(body)) })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** Sends the start of an upload and keeps the connection open; the answer is what comes back. */
async function sendStart(length: number, bytes: Buffer): Promise<{ text: () => string; leave: () => void }> {
  const socket = connect(stack.proxy.port, '127.0.0.1')
  let text = ''
  socket.on('data', (data) => {
    text += data.toString('latin1')
  })
  socket.on('error', () => undefined)
  const head = `POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\n`
  socket.write(`${head}Content-Type: multipart/form-data; boundary=b\r\nContent-Length: ${length}\r\n\r\n`)
  await new Promise<void>((resolve) => socket.write(bytes, () => resolve()))
  return { text: () => text, leave: () => socket.destroy() }
}

const PART = '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nx\r\n'

test('a body that is not a form is rejected, also before it is read', async () => {
  assertError(await post('{}', 'application/json'), 400, 'not_multipart')
  assertError(await post('', 'multipart/mixed; boundary=b'), 400, 'not_multipart')
  assertError(await post('{}', 'application/json', 'images/edits'), 400, 'not_multipart')
  const large = await post(Buffer.alloc(2 * MIB), 'audio/wav')
  assertError(large, 400, 'not_multipart')
})

test('a form that cannot be read is rejected', async () => {
  assertError(await post('hello', 'multipart/form-data; boundary=b'), 400, 'bad_multipart')
  assertError(await post(PART, 'multipart/form-data'), 400, 'bad_multipart')
  assertError(await post(PART, 'multipart/form-data; boundary=b'), 400, 'body_incomplete')
  assertError(await post('', 'multipart/form-data; boundary=b', 'images/edits'), 400, 'bad_multipart')
})

test('an upload may be larger than JSON, up to its own bound', async () => {
  answered(await transcribe(wavFile(100, { rate: 48_000 })))
  assertError(await transcribe(wavFile(200, { rate: 48_000 })), 413, null)
  const json = await post(
    JSON.stringify({ model: 'test/image', prompt: 'x'.repeat(2 * MIB) }),
    'application/json',
    'images/generations',
  )
  assertError(json, 413, null)
})

test('running uploads reserve their memory until they end; further ones are rejected with a retry time', async () => {
  const file = wavFile(100, { rate: 48_000 })
  await stack.provider.hold()
  const running = transcribe(file, 'test/slow')
  await until('the provider has it', async () => (await stack.provider.open()) > 0)
  const refused = await transcribe(file)
  assertError(refused, 429, 'too_many_uploads')
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  assert.equal(refused.headers.get('x-should-retry'), 'true')
  answered(await transcribe(wavFile(10)))
  await stack.provider.release()
  answered(await running)
  answered(await transcribe(file))
})

test('stalled and abandoned uploads release their memory', async () => {
  for (let i = 0; i < 3; i++) {
    const left = await sendStart(6 * MIB, Buffer.alloc(5 * MIB))
    left.leave()
    const refused = transcribe(Buffer.from('no audio'.repeat(100_000)))
    assertError(await refused, 400, 'unsupported_audio')
  }
  await until('there is room again', async () => (await transcribe(wavFile(100, { rate: 48_000 }))).status === 200)
})

test('without a key only the start of an upload is read', async () => {
  const body = new FormData()
  body.append('file', new Blob([new Uint8Array(5 * MIB)]))
  const response = await fetch(url(), { method: 'POST', body }).catch((error: Error) => error)
  if (response instanceof Response) assert.equal(response.status, 401)
})

/** A server whose POST /upload holds bodies until the test lets them go. */
async function startHolding(changes: Parameters<typeof startServer>[0]) {
  const leases: (BodyLease | undefined)[] = []
  const held: Handler = (exchange) => {
    leases.push(exchange.takeBody())
    exchange.answer(200, 'text/plain', 'held')
  }
  const plain: Handler = (exchange) => exchange.answer(200, 'text/plain', 'done')
  const server = await startServer(changes, [
    { method: 'POST', path: '/held', handler: held, upload: true, precheck: () => 'customer' },
    { method: 'POST', path: '/upload', handler: plain, upload: true, precheck: () => 'customer' },
  ])
  return { ...server, leases }
}

test('the memory of an upload stays reserved until its owner releases it, once', async () => {
  const { server, port, leases } = await startHolding({ uploadBytesOpenMax: 3 * MIB })
  const send = async (path: string, bytes: number): Promise<number[]> => {
    const client = await RawClient.open(port)
    await client.send(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`)
    await client.send(Buffer.alloc(bytes))
    const statuses = await client.answers(1)
    client.leave()
    return statuses
  }
  try {
    assert.deepEqual(await send('/held', 2 * MIB), [200])
    assert.deepEqual(await send('/upload', 2 * MIB), [429])
    for (let i = 0; i < 5; i++) assert.deepEqual(await send('/upload', MIB), [200])
    leases[0]?.release()
    leases[0]?.release()
    assert.deepEqual(await send('/held', 2 * MIB), [200])
    assert.deepEqual(await send('/upload', 2 * MIB), [429])
    leases[1]?.release()
    assert.deepEqual(await send('/upload', 2 * MIB), [200])
    assert.deepEqual(await send('/held', 10), [200])
    assert.ok(leases[2] !== undefined, 'a small upload is booked, too')
  } finally {
    server.close()
  }
})

test('an upload that is too slow times out', async () => {
  const { server, port } = await startHolding({ bodyTimeoutMs: 500 })
  try {
    const slow = await RawClient.open(port)
    await slow.send(`POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: ${MIB}\r\n\r\n${PART}`)
    assert.deepEqual(await slow.answers(1), [408])
    assert.match(slow.text, /"code":"body_timeout"/)
    slow.leave()
  } finally {
    server.close()
  }
})

test('senders that disconnect release the memory of their uploads', async () => {
  const { server, port } = await startHolding({})
  try {
    const before = await memoryInUse()
    for (let i = 0; i < 12; i++) {
      const client = await RawClient.open(port)
      await client.send(`POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: ${30 * MIB}\r\n\r\n`)
      await client.send(Buffer.alloc(16 * MIB))
      await sleep(20)
      client.leave()
    }
    await eventually('the server knows', () => server.open === 0)
    const kept = (await memoryInUse()) - before
    assert.ok(kept < 8 * MIB, `${kept} bytes are kept for senders that have left`)
  } finally {
    server.close()
  }
})
