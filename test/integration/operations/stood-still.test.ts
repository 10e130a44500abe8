// Goal: a process that stood still for longer than its deadlines, starved of CPU or paused with its machine, gives up
// nobody whose bytes have arrived meanwhile. Method: each part in this process, which stands still right after they left.
import assert from 'node:assert/strict'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { RPC_STREAM } from '../../../contract/wire/redisKeys.ts'
import { defineScript } from '../../../contract/wire/scripts.ts'
import { RpcClient } from '../../../proxy/bus/rpcClient.ts'
import { checkDeadlines } from '../../../proxy/checkDeadlines.ts'
import { SocketTransport } from '../../../proxy/upstream/socketTransport.ts'
import { HeaderBlock } from '../../../proxy/upstream/transport/headerBlock.ts'
import { limits } from '../../support/limits.ts'
import { replyMessage, TEST_BUS_KEY } from '../../support/parts/sealedCalls.ts'
import { RawClient, startServer } from '../../support/parts/server.ts'
import { itemOf } from '../../support/present.ts'
import { startTestRedis, type TestServer } from '../../support/services.ts'
import { until } from '../../support/stack.ts'

/** Longer than a busy machine itself stands still before the test has the process stand still. */
const DEADLINE_MS = 4_000
const STANDSTILL_MS = 4_500

let server: TestServer
let redis: Redis

before(async () => {
  server = await startTestRedis()
  redis = connectRedis(server.url, 'wait')
})

after(async () => {
  redis.disconnect()
  await server.stop()
})

function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STANDSTILL_MS)
}

/** Does something and stands still after it, in the part of a turn that is followed by timers and not by sockets. */
function thenStandStill<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => {
    setImmediate(() => {
      const result = work()
      process.nextTick(() => {
        standStill()
        resolve(result)
      })
    })
  })
}

/** What the transport reads of an answer after whose last piece the process stands still. */
async function readAnswer(pieces: readonly string[]): Promise<string> {
  const transport = new SocketTransport(limits)
  const sockets: Socket[] = []
  const provider = createServer((socket) => {
    sockets.push(socket)
    socket.once('data', async () => {
      for (const piece of pieces.slice(0, -1)) {
        socket.write(piece)
        await new Promise((resolve) => setImmediate(resolve))
      }
      await thenStandStill(() => socket.write(pieces.at(-1) ?? ''))
    })
  })
  await new Promise<void>((listening) => provider.listen(0, '127.0.0.1', listening))
  const host = `127.0.0.1:${(provider.address() as AddressInfo).port}`
  try {
    return await new Promise((resolve, reject) => {
      let body = ''
      transport.send(
        {
          origin: `http://${host}`,
          host,
          path: '/',
          method: 'GET',
          headers: new HeaderBlock([]),
          requestId: 'req_test',
          body: null,
          fresh: false,
          connectTimeoutMs: DEADLINE_MS,
          firstByteTimeoutMs: DEADLINE_MS,
          idleTimeoutMs: DEADLINE_MS,
          totalTimeoutMs: 60_000,
        },
        {
          onHead: () => undefined,
          onData: (bytes) => {
            body += bytes.toString('latin1')
          },
          onEnd: () => resolve(body),
          onFailure: reject,
        },
      )
    })
  } finally {
    await transport.close()
    for (const socket of sockets) socket.destroy()
    provider.close()
  }
}

test('a provider response that arrived during a stall does not time out', async () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'
  assert.equal(await readAnswer([`${head}hello`]), 'hello', 'the first byte was in time')
  assert.equal(await readAnswer([`${head}he`, 'llo']), 'hello', 'the rest was in time')
})

test('a stall after a response of Redis does not close its connection', async () => {
  const connection = connectRedis(server.url, { failAfterMs: DEADLINE_MS })
  const faults: unknown[] = []
  connection.on('error', (error) => faults.push(error))
  try {
    await until('the connection is up', () => connection.status === 'ready')
    const beat = defineScript(connection, 'heartbeat')
    await beat(['owners'], ['own_a'])
    const beaten = await thenStandStill(() => ({ reply: beat(['owners'], ['own_b']) }))
    await beaten.reply
    assert.deepEqual(faults, [])
  } finally {
    connection.disconnect()
  }
})

test('a reply of control that arrived during a stall is accepted', async () => {
  const [commands, subscriber] = [connectRedis(server.url, 'wait'), connectRedis(server.url, 'wait')]
  const busKeys = [Buffer.from(TEST_BUS_KEY, 'hex')]
  const client = new RpcClient({ commands, subscriber, owner: newId('own'), busKeys, limits })
  try {
    await client.start()
    const call = client.call('resolve_key', {}, DEADLINE_MS)
    // Control is this test: it takes the call, which arrives by another connection, and answers it before its deadline.
    await until('the call is in the stream', async () => (await redis.xlen(RPC_STREAM)) === 1)
    const [, fields] = itemOf(await redis.xrangeBuffer(RPC_STREAM, '-', '+'), 0)
    const { id, replyTo } = sluice.RpcRequest.decode(itemOf(fields, 1))
    const reply = replyMessage(replyTo, id, sluice.KeyRecord.encode({ keyId: 'key_1' }).finish())
    const sent = await thenStandStill(() => ({ reached: redis.publish(replyTo, reply) }))
    assert.equal((await call).keyId, 'key_1')
    assert.equal(await sent.reached, 1)
  } finally {
    client.stop()
    for (const connection of [commands, subscriber]) connection.disconnect()
  }
})

test('a request body that arrived during a stall is served', async () => {
  const { server: gateway, port, refused } = await startServer({ bodyTimeoutMs: DEADLINE_MS })
  const client = await RawClient.open(port)
  try {
    await client.send('POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhello')
    await until('the body has begun', () => gateway.open === 1)
    await thenStandStill(() => client.socket.write('hello'))
    assert.deepEqual(await client.answers(1), [200])
    assert.deepEqual(refused, [])
  } finally {
    client.leave()
    gateway.close()
  }
})

test('a stall between reading the clock and checking deadlines does not expire deadlines', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let stoodAtMs = 0
  // Immediates run in the order of their making, so this one stands still just before the check of the same turn.
  setImmediate(() => {
    stoodAtMs = performance.now()
    standStill()
  })
  const seenMs = await new Promise<number>((resolve) => {
    checkDeadlines(20, resolve)
    t.mock.timers.tick(20)
  })
  assert.ok(stoodAtMs > 0)
  assert.ok(seenMs <= stoodAtMs, `the clock was read ${seenMs - stoodAtMs} ms after the process stood still`)
})
