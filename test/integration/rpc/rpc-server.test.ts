import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { CallSeal, requestLabel } from '../../../contract/wire/callSeal.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { RPC_STREAM } from '../../../contract/wire/redisKeys.ts'
import type { RpcHandlers } from '../../../control/runtime/bus/rpcOperations.ts'
import { type RpcOutcome, RpcServer } from '../../../control/runtime/bus/rpcServer.ts'
import { limits } from '../../support/limits.ts'
import { EMPTY_HANDLERS } from '../../support/parts/emptyHandlers.ts'
import { callEntry, type OpenedReply, openReply, TEST_BUS_KEY } from '../../support/parts/sealedCalls.ts'
import { startTestRedis, type TestServer } from '../../support/services.ts'
import { until } from '../../support/stack.ts'

const CHANNEL = 'rpc:reply:test'
const outcomes: Array<[string, RpcOutcome]> = []
const replies = new Map<number, OpenedReply>()
let server: TestServer
let redis: Redis
let listener: Redis
let rpc: RpcServer
let nextId = 1
let underWay = 0
let mostUnderWay = 0

const handlers: RpcHandlers = {
  ...EMPTY_HANDLERS,
  resolve_key: async ({ keyHash }) => {
    if (keyHash === 'unknown') throw new GatewayError('invalid_api_key')
    if (keyHash === 'broken') throw new Error('a secret of the database')
    underWay++
    mostUnderWay = Math.max(mostUnderWay, underWay)
    await sleep(keyHash === 'slow' ? 50 : 0)
    underWay--
    return { keyId: `key of ${keyHash}` }
  },
  get_sheet: async ({ version }) => String(version),
}

before(async () => {
  server = await startTestRedis()
  redis = connectRedis(server.url, 'wait')
  listener = connectRedis(server.url, 'wait')
  for (const connection of [redis, listener]) connection.on('error', () => {})
  await listener.subscribe(CHANNEL)
  listener.on('messageBuffer', (_channel: Buffer, message: Buffer) => {
    const reply = openReply(CHANNEL, message)
    replies.set(reply.id, reply)
  })
  rpc = newServer()
  rpc.start()
})

after(async () => {
  await rpc.stop(60_000)
  redis.disconnect()
  listener.disconnect()
  await server.stop()
})

function newServer(): RpcServer {
  return new RpcServer({
    redisUrl: server.url,
    busKeys: [Buffer.from(TEST_BUS_KEY, 'hex')],
    handlers,
    log: pino({ enabled: false }),
    observe: (operation, outcome) => outcomes.push([operation, outcome]),
    limits,
  })
}

async function send(operation: string, payload: Uint8Array, timeoutMs = 60_000): Promise<number> {
  const id = nextId++
  await redis.xadd(RPC_STREAM, '*', 'e', callEntry({ id, channel: CHANNEL, timeoutMs, operation, payload }))
  return id
}

const resolveKey = (keyHash: string) => send('resolve_key', sluice.ResolveKeyRequest.encode({ keyHash }).finish())

const keyOf = (reply: OpenedReply) => sluice.KeyRecord.decode(reply.payload).keyId

async function replyTo(id: number): Promise<OpenedReply> {
  await until(`call ${id} is answered`, () => replies.has(id))
  return replies.get(id) ?? assert.fail()
}

/** As a proxy does: asks again while no answer comes, since an answer may go out before it listens again. */
async function askUntilAnswered(keyHash: string): Promise<OpenedReply> {
  for (let attempt = 0; attempt < 60; attempt++) {
    const id = await resolveKey(keyHash).catch(() => 0)
    for (let waits = 0; waits < 20 && !replies.has(id); waits++) await sleep(50)
    const reply = replies.get(id)
    if (reply !== undefined) return reply
  }
  return assert.fail(`no answer for ${keyHash}`)
}

const nothingLeft = async () => (await redis.xlen(RPC_STREAM)) === 0

test('a call gets the message of its handler', async () => {
  const reply = await replyTo(await resolveKey('one'))
  assert.equal(reply.errorCode, '')
  assert.equal(keyOf(reply), 'key of one')
  const sheet = await replyTo(await send('get_sheet', sluice.GetSheetRequest.encode({ version: 7 }).finish()))
  assert.equal(Buffer.from(sheet.payload).toString(), '7')
  await until('the stream is empty', nothingLeft)
})

test('errors reach the caller by code; internal errors reveal no details', async () => {
  assert.equal((await replyTo(await resolveKey('unknown'))).errorCode, 'invalid_api_key')
  const broken = await replyTo(await resolveKey('broken'))
  assert.equal(broken.errorCode, 'internal_error')
  assert.ok(!broken.errorMessage.includes('secret'))
})

test('an unknown or unreadable call is rejected immediately and changes no state', async () => {
  assert.equal((await replyTo(await send('no_such_call', Buffer.alloc(0)))).errorCode, 'gateway_restarting')
  const garbled = await replyTo(await send('resolve_key', Buffer.from([0x0a, 0xff])))
  assert.equal(garbled.errorCode, 'gateway_restarting')
  assert.deepEqual(garbled.forProxiesBefore, [garbled.errorCode, garbled.errorMessage])
  assert.match(garbled.errorMessage, /Try again after Retry-After seconds/)
})

test('expired and malformed calls are removed from the stream', async () => {
  await rpc.stop(60_000)
  const late = await send('resolve_key', Buffer.alloc(0), 100)
  await sleep(300)
  outcomes.length = 0
  rpc = newServer()
  rpc.start()
  await redis.xadd(RPC_STREAM, '*', 'e', Buffer.from([0xff, 0xff]))
  await redis.xadd(RPC_STREAM, '*', 'other', 'field')
  await until('all are counted', () => outcomes.length === 3)
  assert.deepEqual(outcomes.map(([, outcome]) => outcome).sort(), ['expired', 'malformed', 'malformed'])
  assert.ok(!replies.has(late))
  await until('the stream is empty', nothingLeft)
})

test('concurrent calls are bounded by the limit, and all are answered', async () => {
  mostUnderWay = 0
  const ids = await Promise.all(Array.from({ length: limits.rpcConcurrencyMax * 4 }, () => resolveKey('slow')))
  await Promise.all(ids.map(replyTo))
  assert.ok(mostUnderWay > 1 && mostUnderWay <= limits.rpcConcurrencyMax, `${mostUnderWay} ran at once`)
})

test('calls are answered again after Redis was emptied, restarted or killed', async () => {
  await redis.flushall()
  assert.equal((await askUntilAnswered('emptied')).errorCode, '')
  await server.restart()
  assert.equal((await askUntilAnswered('restarted')).errorCode, '')
  await server.kill9()
  await server.restart()
  assert.equal((await askUntilAnswered('killed')).errorCode, '')
})

test('a stopped server leaves the consumer group, and a call waits for the next one', async () => {
  await rpc.stop(60_000)
  const id = await resolveKey('later')
  await sleep(100)
  assert.ok(!replies.has(id))
  rpc = newServer()
  rpc.start()
  assert.equal(keyOf(await replyTo(id)), 'key of later')
  assert.equal(((await redis.xinfo('CONSUMERS', RPC_STREAM, 'control')) as unknown[]).length, 1)
})

test('a call not sealed with the shared key is dropped: plaintext, another key, or moved to another call', async () => {
  outcomes.length = 0
  const payload = sluice.ResolveKeyRequest.encode({ keyHash: 'forged' }).finish()
  const entry = (id: number) =>
    sluice.RpcRequest.decode(callEntry({ id, channel: CHANNEL, timeoutMs: 60_000, operation: 'resolve_key', payload }))
  const wrongKey = new CallSeal([Buffer.alloc(32)], CHANNEL)
  const ids = Array.from({ length: 5 }, () => nextId++)
  const [clear = 0, otherKey = 0, otherId = 0, otherOperation = 0, otherChannel = 0] = ids
  const forged = [
    { ...entry(clear), sealed: payload },
    { ...entry(otherKey), sealed: wrongKey.seal(requestLabel('resolve_key', otherKey), payload) },
    { ...entry(otherId), id: nextId++ },
    { ...entry(otherOperation), operation: 'get_balance' },
    { ...entry(otherChannel), replyTo: 'rpc:reply:thief' },
  ]
  for (const request of forged) {
    await redis.xadd(RPC_STREAM, '*', 'e', Buffer.from(sluice.RpcRequest.encode(request).finish()))
  }
  await until('all are taken off the stream', () => outcomes.length === forged.length)
  assert.deepEqual([...new Set(outcomes.map(([, outcome]) => outcome))], ['malformed'])
  assert.deepEqual(
    ids.filter((id) => replies.has(id)),
    [],
  )
  // The server goes on with those that are right.
  assert.equal(keyOf(await replyTo(await resolveKey('right'))), 'key of right')
})

test('calls that Redis hands to a control that stops are answered', async () => {
  const pid = server.pid() ?? assert.fail()
  const waits = async () => Number(/blocked_clients:(\d+)/.exec(await redis.info('clients'))?.[1])
  await until('every lane waits for calls', async () => (await waits()) >= 5)
  // Redis reads the calls first, and what closes the connections of the lanes after them.
  process.kill(pid, 'SIGSTOP')
  const sending = Array.from({ length: 3 }, () => resolveKey('handed over'))
  await new Promise((resolve) => setImmediate(resolve))
  const stopped = rpc.stop(60_000)
  process.kill(pid, 'SIGCONT')
  await stopped
  // It takes those that nobody was handed.
  rpc = newServer()
  rpc.start()
  for (const id of await Promise.all(sending)) assert.equal(keyOf(await replyTo(id)), 'key of handed over')
})
