// Goal: reads that anybody may ask for leave everything else its place. Method: the receipt reader over real stores with
// ids that were never given out; the real client and server with reads that do not end.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { pino } from 'pino'
import type { RpcHandlers } from '../../control/bus/rpcOperations.ts'
import { RpcServer } from '../../control/bus/rpcServer.ts'
import { newId } from '../../control/contract/ids.ts'
import { limits } from '../../control/contract/limits.ts'
import { connectRedis } from '../../control/contract/redis.ts'
import { donePrefix, holdsKey, OWNERS_KEY } from '../../control/contract/redisKeys.ts'
import { migrate } from '../../control/db/migrate.ts'
import { createPool, type Pool } from '../../control/db/pool.ts'
import { ReceiptReader } from '../../control/receipts/receiptReader.ts'
import { RpcClient } from '../../proxy/bus/rpcClient.ts'
import { freshDatabase, startTestRedis, type TestServer } from '../support/services.ts'

let server: TestServer
let redis: Redis
let pool: Pool

before(async () => {
  server = await startTestRedis()
  redis = connectRedis(server.url, 'wait')
  pool = createPool(await freshDatabase())
  await migrate(pool)
})

after(async () => {
  redis.disconnect()
  await pool.end()
  await server.stop()
})

/** How long until a public read is refused, in milliseconds. */
async function refusedAfter(reader: ReceiptReader, requestId: string): Promise<number> {
  const startedMs = performance.now()
  await assert.rejects(reader.single(requestId, ''), { code: 'receipt_not_found' })
  return performance.now() - startedMs
}

test('public reads of invented ids do not wait; of known ones two do', async () => {
  const reader = new ReceiptReader(pool, redis)
  const invented = await Promise.all(Array.from({ length: 30 }, () => refusedAfter(reader, newId('req'))))
  assert.ok(Math.max(...invented) < limits.receiptWaitMs / 2, `waited ${Math.max(...invented)} ms`)
  await redis.zadd(OWNERS_KEY, Date.now(), 'own_test')
  const [held, ended, third] = [newId('req'), newId('req'), newId('req')]
  await redis.hset(holdsKey(17, 'own_test'), held, '1|1|a|k|1|1|1|1||m', third, '1|1|a|k|1|1|1|1||m')
  const [seconds] = await redis.time()
  await redis.hset(`${donePrefix(63)}:${Math.floor(Number(seconds) / 60)}`, ended, '5')
  const waiting = Promise.all([refusedAfter(reader, held), refusedAfter(reader, ended)])
  await sleep(500)
  assert.ok((await refusedAfter(reader, third)) < limits.receiptWaitMs / 2)
  for (const ms of await waiting) assert.ok(ms >= limits.receiptWaitMs, `waited ${ms} ms only`)
})

async function withClient(handlers: Partial<RpcHandlers>, work: (client: RpcClient) => Promise<void>): Promise<void> {
  const nothing = async () => Buffer.alloc(0)
  const all: RpcHandlers = {
    ...{ ping: nothing, resolve_key: nothing, settle_lost: nothing, get_sheet: nothing },
    ...{ get_receipt: nothing, get_balance: nothing, api: nothing, list_sheets: nothing },
    ...{ ask_approval: nothing, use_approval: nothing, release_approval: nothing },
    ...{ payment_terms: nothing, settle_payment: nothing, submit_batch: nothing },
    ...handlers,
  }
  const rpc = new RpcServer(server.url, all, pino({ enabled: false }))
  rpc.start()
  const [commands, subscriber] = [connectRedis(server.url, 'wait'), connectRedis(server.url, 'wait')]
  const client = new RpcClient({ commands, subscriber, owner: newId('own'), limits })
  try {
    await client.start()
    await work(client)
  } finally {
    client.stop()
    await rpc.stop(100)
    for (const connection of [commands, subscriber]) connection.disconnect()
  }
}

test('what requests wait for is answered while reads fill all of their places', async () => {
  await withClient({ get_receipt: () => sleep(1_500, Buffer.alloc(0)) }, async (client) => {
    const reads = Array.from({ length: limits.rpcConcurrencyMax * 4 }, () =>
      client.call('get_receipt', new Uint8Array(0)),
    )
    const ended = Promise.allSettled(reads)
    await sleep(200)
    for (const operation of ['resolve_key', 'settle_lost', 'ping']) {
      const startedMs = performance.now()
      await client.call(operation, new Uint8Array(0))
      assert.ok(performance.now() - startedMs < 500, `${operation} took ${performance.now() - startedMs} ms`)
    }
    client.stop()
    await ended
  })
})

test("the clock of the proxy's machine does not matter to its calls", async (t) => {
  await withClient({ resolve_key: async () => Buffer.from('key') }, async (client) => {
    const realNow = Date.now
    t.mock.method(Date, 'now', () => realNow() - 3_600_000)
    assert.equal(Buffer.from(await client.call('resolve_key', new Uint8Array(0))).toString(), 'key')
  })
})
