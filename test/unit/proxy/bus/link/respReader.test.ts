import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseRedisAddress } from '../../../../../proxy/bus/link/redisAddress.ts'
import { ProtocolError, RedisError, type Reply, RespReader } from '../../../../../proxy/bus/link/respReader.ts'
import { plainCall, scriptCall } from '../../../../../proxy/bus/link/respWriter.ts'

const BYTES_MAX = 4_096

/** The bytes that a Redis server answers with. */
function encode(reply: Reply): string {
  if (reply === null) return '$-1\r\n'
  if (typeof reply === 'number') return `:${reply}\r\n`
  if (typeof reply === 'string') return `$${reply.length}\r\n${reply}\r\n`
  if (reply instanceof RedisError) return `-${reply.message}\r\n`
  return `*${reply.length}\r\n${reply.map(encode).join('')}`
}

function read(bytes: Buffer, cuts: readonly number[]): Reply[] {
  const reader = new RespReader(BYTES_MAX)
  const replies: Reply[] = []
  // One memory for every read, as the socket has it: what is kept between reads must be a copy.
  const memory = Buffer.alloc(bytes.length)
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  for (let i = 0; i + 1 < places.length; i++) {
    const length = (places[i + 1] ?? 0) - (places[i] ?? 0)
    memory.fill(0xff)
    bytes.copy(memory, 0, places[i], places[i + 1])
    reader.push(memory.subarray(0, length), (reply) => replies.push(reply))
  }
  return replies
}

const latin1 = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) })
const leaf: fc.Arbitrary<Reply> = fc.oneof(fc.maxSafeInteger(), latin1, fc.constant(null))
const reply = fc.oneof(leaf, fc.array(leaf), fc.array(fc.array(leaf, { maxLength: 3 }), { maxLength: 3 }))

test('answers read the same however their bytes are split', () => {
  fc.assert(
    fc.property(fc.array(reply, { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 12 }), (replies, cuts) => {
      assert.deepEqual(read(Buffer.from(replies.map(encode).join(''), 'latin1'), cuts), replies)
    }),
    { numRuns: 1_000 },
  )
})

test('errors and simple texts are told apart', () => {
  const replies = read(Buffer.from('+PONG\r\n-NOSCRIPT No matching script.\r\n*-1\r\n'), [3, 9])
  assert.equal(replies[0], 'PONG')
  assert.ok(replies[1] instanceof RedisError)
  assert.equal(replies[1].message, 'NOSCRIPT No matching script.')
  assert.equal(replies[2], null)
})

test('what is no answer is refused, and random bytes never hang or crash the reader', () => {
  for (const bytes of [
    'HTTP/1.1 400\r\n',
    ':12x\r\n',
    ':\r\n',
    ':99999999999999999999\r\n',
    '*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n',
  ]) {
    assert.throws(() => read(Buffer.from(bytes), []), ProtocolError, bytes)
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat(), { maxLength: 5 }), (bytes, cuts) => {
      try {
        read(Buffer.from(bytes), cuts)
      } catch (error) {
        assert.ok(error instanceof ProtocolError)
      }
    }),
    { numRuns: 2_000 },
  )
})

test('an answer that grows without end is refused', () => {
  const reader = new RespReader(64)
  assert.throws(() => reader.push(Buffer.from(`$1000\r\n${'x'.repeat(80)}`), () => {}), ProtocolError)
})

test('a call of a script is the bytes that Redis documents', () => {
  const call = scriptCall('EVALSHA', 'abc', ['k1'], ['req_1', 42, Buffer.from([0, 255, 13, 10])])
  const parts = ['EVALSHA', 'abc', '1', 'k1', 'req_1', '42', '\u0000\u00ff\r\n']
  assert.equal(call, `*7\r\n${parts.map((part) => `$${part.length}\r\n${part}\r\n`).join('')}`)
  assert.equal(plainCall('AUTH', 'pä'), '*2\r\n$4\r\nAUTH\r\n$3\r\np\u00c3\u00a4\r\n')
})

test('addresses of Redis', () => {
  assert.deepEqual(parseRedisAddress('rediss://al%40ice:p%2Fw@cache.example:7000/3'), {
    host: 'cache.example',
    port: 7_000,
    path: '',
    tls: true,
    user: 'al@ice',
    password: 'p/w',
    database: 3,
  })
  const plain = { host: '127.0.0.1', port: 6_379, path: '', tls: false, user: '', password: '', database: 0 }
  assert.deepEqual(parseRedisAddress('redis://127.0.0.1'), plain)
  assert.equal(parseRedisAddress('redis://[::1]:1/')?.host, '::1')
  const socket = { ...plain, host: '', port: 0, path: '/run/redis.sock' }
  assert.deepEqual(parseRedisAddress('unix:///run/redis.sock'), socket)
  for (const other of [
    '/run/redis.sock',
    'unix://h/redis.sock',
    'unix:///my%20redis.sock',
    'unix:///redis.sock?db=1',
    'redis://h/name',
    'redis://h?family=6',
    'http://h',
    '',
  ]) {
    assert.equal(parseRedisAddress(other), null, other)
  }
})
