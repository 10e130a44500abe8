import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { joinWrites } from '../../../../contract/wire/joinWrites.ts'

/** A connection to a server that answers every command, and the commands of each write that its socket made. */
async function connected(t: { after(end: () => void): void }) {
  const server = createServer((socket: Socket) => {
    socket.on('data', (bytes: Buffer) => {
      for (const _ of String(bytes).matchAll(/^\*\d/gm)) socket.write('+OK\r\n')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const options = {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    enableReadyCheck: false,
    disableClientInfo: true,
  }
  const redis = new Redis(options)
  redis.on('error', () => {})
  t.after(() => {
    redis.disconnect()
    server.close()
  })
  joinWrites(redis)
  await once(redis, 'ready')
  await redis.ping()
  const writes: string[][] = []
  const namesIn = (text: string): string[] => [...text.matchAll(/^SET\r\n\$\d+\r\n(\w+)/gim)].map(([, key = '']) => key)
  const { stream } = redis
  const [write, writev] = [stream._write.bind(stream), stream._writev?.bind(stream)]
  stream._write = (chunk: unknown, encoding, done) => {
    writes.push(namesIn(String(chunk)))
    write(chunk, encoding, done)
  }
  stream._writev = (chunks, done) => {
    writes.push(namesIn(chunks.map(({ chunk }) => String(chunk)).join('')))
    writev?.(chunks, done)
  }
  return { redis, writes }
}

test('commands of one turn, microtasks included, are one write in their order; the next turn has its own', async (t) => {
  const { redis, writes } = await connected(t)
  const sent = [redis.set('a', 1), redis.set('b', Buffer.from('binary'))]
  sent.push(Promise.resolve().then(() => redis.set('c', 3)))
  await nextTurn()
  assert.deepEqual(writes, [['a', 'b', 'c']])
  sent.push(redis.set('d', 4))
  await nextTurn()
  assert.deepEqual(writes, [['a', 'b', 'c'], ['d']])
  assert.deepEqual(await Promise.all(sent), ['OK', 'OK', 'OK', 'OK'])
})

test('commands before the first connection, and after one that broke within the turn, are sent', async (t) => {
  const { redis } = await connected(t)
  const lost = redis.set('a', 1)
  redis.stream.destroy()
  const kept = redis.set('b', 2)
  // Without the rules of connectRedis, the next connection gets them.
  assert.deepEqual(await Promise.all([lost, kept]), ['OK', 'OK'])
  const early = new Redis({ ...redis.options, lazyConnect: true })
  t.after(() => early.disconnect())
  joinWrites(early)
  assert.equal(await early.set('c', 3), 'OK')
})
