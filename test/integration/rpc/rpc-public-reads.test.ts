// Goal: reads that anybody may ask for leave everything else its place. Method: the receipt reader over real stores with
// ids that were never given out; the real client and server with reads that do not end.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { donePrefix, holdsKey, OWNERS_KEY } from '../../../contract/wire/redisKeys.ts'
import { RPC } from '../../../contract/wire/rpc.ts'
import { rpcLanes } from '../../../contract/wire/rpcStreams.ts'
import { ReceiptReader } from '../../../control/records/receipts/receiptReader.ts'
import type { RpcHandlers } from '../../../control/runtime/bus/rpcOperations.ts'
import { RpcServer } from '../../../control/runtime/bus/rpcServer.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { RpcClient } from '../../../proxy/bus/rpcClient.ts'
import { limits, limitsWith } from '../../support/limits.ts'
import { EMPTY_HANDLERS } from '../../support/parts/emptyHandlers.ts'
import { TEST_BUS_KEY } from '../../support/parts/sealedCalls.ts'
import { freshDatabase, startTestRedis, type TestServer } from '../../support/services.ts'
import { until } from '../../support/stack.ts'

let server: TestServer
let redis: Redis
let pool: Pool

before(async () => {
  server = await startTestRedis()
  redis = connectRedis(server.url, 'wait')
  pool = createPool(await freshDatabase(), limits)
  await migrate(pool)
})

after(async () => {
  redis.disconnect()
  await pool.end()
  await server.stop()
})

/** Whether a public read was made to wait before it was refused, by what the refusal says. */
async function waits(reader: ReceiptReader, requestId: string): Promise<boolean> {
  const error = await reader.single(requestId, '').catch((thrown: unknown) => thrown)
  assert.ok(error instanceof GatewayError && error.code === 'receipt_not_found', String(error))
  return error.message !== new GatewayError('receipt_not_found').message
}

test('public reads of unknown ids do not wait for booking; reads of known ones rarely do', async () => {
  const reader = new ReceiptReader(pool, redis, limits)
  const invented = await Promise.all(Array.from({ length: 30 }, () => waits(reader, newId('req'))))
  assert.ok(!invented.includes(true))
  await redis.zadd(OWNERS_KEY, Date.now(), 'own_test')
  const most = limits.receiptPublicAsksMax
  const held = Array.from({ length: most }, () => newId('req'))
  const ended = newId('req')
  await redis.hset(holdsKey(17, 'own_test'), Object.fromEntries(held.map((id) => [id, '1|1|a|k|1|1|1|1||m'])))
  const [seconds] = await redis.time()
  await redis.hset(`${donePrefix(63)}:${Math.floor(Number(seconds) / 60)}`, ended, '5')
  const known = await Promise.all([ended, ...held].map((id) => waits(reader, id)))
  assert.equal(known.filter(Boolean).length, most)
  assert.deepEqual(await Promise.all([ended, held[0] ?? ''].map((id) => waits(reader, id))), [true, true])
})

/** A read that is given up would no longer have its place. */
const PATIENT = limitsWith({ rpcTimeoutMs: 60_000 })

async function withClient(handlers: Partial<RpcHandlers>, work: (client: RpcClient) => Promise<void>): Promise<void> {
  const all: RpcHandlers = { ...EMPTY_HANDLERS, ...handlers }
  const busKeys = [Buffer.from(TEST_BUS_KEY, 'hex')]
  const log = pino({ enabled: false })
  const rpc = new RpcServer({ redisUrl: server.url, busKeys, handlers: all, log, limits: PATIENT })
  rpc.start()
  const [commands, subscriber] = [connectRedis(server.url, 'wait'), connectRedis(server.url, 'wait')]
  const client = new RpcClient({ commands, subscriber, owner: newId('own'), busKeys, limits: PATIENT })
  try {
    await client.start()
    await work(client)
  } finally {
    client.stop()
    await rpc.stop(100)
    for (const connection of [commands, subscriber]) connection.disconnect()
  }
}

test('calls that requests wait for are answered while public reads fill all of their slots', async () => {
  let underWay = 0
  let over = 0
  let endReads = (): void => {}
  const end = new Promise<string>((resolve) => {
    endReads = () => resolve('')
  })
  const get_receipt = () => {
    underWay++
    return end
  }
  await withClient({ get_receipt }, async (client) => {
    const reads = Array.from({ length: limits.rpcConcurrencyMax * 4 }, () =>
      client.call('get_receipt', {}).finally(() => over++),
    )
    const ended = Promise.allSettled(reads)
    await until('reads have all of their places', () => underWay === rpcLanes(limits)[RPC.get_receipt.lane].placesMax)
    for (const operation of ['resolve_key', 'settle_lost', 'ping'] as const) {
      await client.call(operation, {})
      assert.equal(over, 0, `${operation} waited for reads`)
    }
    endReads()
    client.stop()
    await ended
  })
})

test('calls do not depend on the clock of the proxy machine', async (t) => {
  await withClient({ resolve_key: async () => ({ keyId: 'key_1' }) }, async (client) => {
    const realNow = Date.now
    t.mock.method(Date, 'now', () => realNow() - 3_600_000)
    assert.equal((await client.call('resolve_key', {})).keyId, 'key_1')
  })
})
